"""Mistakes in the words of ``grounding-rewards recipes``."""

from __future__ import annotations


def test_mistakes_are_one_line(run):
    assert run.error("recipes", "gelatto").startswith(
        "unknown recipe 'gelatto'; did you mean 'gelato'? There are: action"
    )
    assert run.error("recipes", "gelato", "--option", "format_wieght=1").startswith(
        "gelato: unknown option 'format_wieght'; did you mean 'format_weight'? It takes: format_weight"
    )
    assert run.error("recipes", "gelato", "--option", "format_weight") == (
        "--option: got 'format_weight'; expected KEY=VALUE, such as format_weight=0.1"
    )
    assert run.error("recipes", "--option", "format_weight=1") == (
        "recipes: got format_weight without a NAME; expected the recipe that takes them"
    )
    assert run.error("recipes", "click", "--response-space", "pixels") == (
        "unknown space 'pixels'; use one of pixel, model_pixel, unit, thousandths"
    )
    assert "parts by name" in run.error("recipes", "composite", "--option", "parts=5")
    assert "no_such_module" in run.error("recipes", "no_such_module:x")
    assert "unexpected" in run.error("recipes", "gelato", "gta1")

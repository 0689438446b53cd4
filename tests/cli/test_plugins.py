"""``grounding-rewards plugins``: what each plugin adds, and what is wrong with those that do not load."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.parsing import PatternDialect
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import collect
from grounding_rewards.verifiers import Hit
from tests.cli.command import result_of


class Ours:
    """A verifier [bold]of ours[/bold].

    And more.
    """

    def __call__(self, rollouts):
        raise NotImplementedError


class Silent:
    @property
    def __doc__(self):
        raise ValueError("nothing to say")

    def __call__(self, rollouts):
        raise NotImplementedError


def point(name, distribution, **hooks):
    def load():
        if not hooks:
            raise ImportError("no such module")
        return SimpleNamespace(**{f"register_{kind}": hookimpl(hook) for kind, hook in hooks.items()})

    return SimpleNamespace(
        name=name, value=f"{name}:x", dist=SimpleNamespace(name=distribution, version="1.2"), load=load
    )


TUPLE = PatternDialect("pair", r"\((?P<x>[0-9]+), (?P<y>[0-9]+)\)")
ODD = PatternDialect("odd", r"#(?P<x>[0-9]+)#(?P<y>[0-9]+)")


def verifiers(register):
    register("ours", Ours)
    register("silent", Silent())


def parsers(register):
    register("pair", TUPLE)
    register("odd", ODD)


@pytest.fixture
def installed(monkeypatch):
    def install(*points):
        monkeypatch.setattr(plugins, "installed", lambda: list(points))

    monkeypatch.delenv(plugins.LOAD, raising=False)
    return install


ACME = point("acme", "acme-rewards", verifiers=verifiers, parsers=parsers)
ACME_FACTS = {
    "plugin": "acme",
    "distribution": "acme-rewards",
    "version": "1.2",
    "loaded": True,
    "dialects": [{"name": "acme/odd", "says": ""}, {"name": "acme/pair", "says": "(512, 384)"}],
    "verifiers": [
        {"name": "acme/ours", "says": "A verifier [bold]of ours[/bold]."},
        {"name": "acme/silent", "says": ""},
    ],
    "recipes": [],
    "methods": [],
    "engines": [],
    "families": [],
}


def test_a_plugin_with_what_it_adds(run, installed):
    installed(ACME)
    result = run("plugins")
    assert [line.rstrip() for line in result.out.splitlines()] == [
        "acme (acme-rewards 1.2)",
        "  dialects   acme/odd",
        "             acme/pair    (512, 384)",
        "  verifiers  acme/ours    A verifier [bold]of ours[/bold].",
        "             acme/silent",
    ]
    assert (result.code, result.err) == (0, "")
    assert result_of(run("plugins", "--json").out) == [ACME_FACTS]


def test_a_narrow_terminal_folds_names_and_drops_no_letter(run, installed, monkeypatch):
    long = "a_very_long_name_of_a_verifier_that_nobody_can_read"
    installed(point("acme", "acme-rewards", verifiers=lambda register: register(long, Ours)))
    monkeypatch.setenv("COLUMNS", "40")
    names = [line[13:].split()[0] for line in run("plugins").out.splitlines()[1:]]
    assert "".join(names).startswith("acme/a_very_long_name_of")
    words = run("plugins").out.split()
    assert all(letters in "".join(words) for letters in ("verifiers", "[bold]", "ours[/bold]"))


def test_what_does_not_load_is_noted_and_the_rest_is_listed(run, installed):
    def taken(register):
        register("pair", Hit)

    installed(ACME, point("acme", "thief", parsers=parsers), point("broken", "b"), point("wrong", "w", parsers=taken))
    result = run("plugins")
    assert result.code == 0
    assert result.out.startswith("acme (acme-rewards 1.2)\n")
    assert result.err.splitlines() == [
        "warning: acme (thief 1.2) is not loaded: plugin 'acme' is offered by both acme-rewards and thief; "
        "uninstall one",
        "warning: broken (b 1.2) is not loaded: plugin 'broken' of b does not load (ImportError: no such module); fix "
        "or uninstall it, or leave it out of GROUNDING_REWARDS_PLUGINS",
        "warning: wrong (w 1.2) is not loaded: plugin 'wrong' of w: parser 'wrong/pair': got <class "
        "'grounding_rewards.verifiers.hit.Hit'>; expected a dialect with name, names and one, such as a "
        "PatternDialect",
    ]
    listed = result_of(run("plugins", "--json").out)
    assert [(each["plugin"], each["loaded"], "error" in each) for each in listed] == [
        ("acme", True, False), ("acme", False, True), ("broken", False, True), ("wrong", False, True)
    ]  # fmt: skip


def test_what_the_environment_leaves_out_or_asks_for_in_vain_is_noted(run, installed, monkeypatch):
    installed(ACME)
    monkeypatch.setenv(plugins.LOAD, "")
    result = run("plugins")
    assert (result.out, result.err) == (
        "", "note: acme (acme-rewards 1.2) is not loaded: left out by GROUNDING_REWARDS_PLUGINS\n"
    )  # fmt: skip
    monkeypatch.setenv(plugins.LOAD, "acme, amce")
    assert run("plugins").err == "warning: amce is not loaded: named in GROUNDING_REWARDS_PLUGINS, but not installed\n"


def test_no_plugins_are_a_note(run, installed):
    installed()
    assert run("plugins") == (0, "", "note: no plugins are installed; --all lists what is built in\n")
    assert result_of(run("plugins", "--json").out) == []


def test_all_that_is_built_in_is_listed_with_what_it_says(run, installed):
    installed(ACME)
    built_in, acme = result_of(run("plugins", "--all", "--json").out)
    assert acme == ACME_FACTS
    assert (built_in["plugin"], built_in["distribution"]) == (None, "grounding-rewards")
    known = collect([])
    kinds = {
        "dialects": known.parsers,
        "verifiers": known.verifiers,
        "recipes": known.recipes,
        "methods": known.methods,
        "engines": known.engines,
    }
    for kind, things in kinds.items():
        assert [each["name"] for each in built_in[kind]] == list(things)
    says = {each["name"]: each["says"] for kind in kinds for each in built_in[kind]}
    assert {name for name, text in says.items() if not text} <= {"ui_venus"}
    assert says["bare_tuple"] == "(512, 384)"
    assert says["json_2d"] == '{"point_2d": [512, 384], "label": "save"}'
    assert says["correct_refusal"] == "1.0 where the target is a refusal and the response refuses, else 0.0."
    assert says["min_rollouts"] == "Keep samples with at least n scored rollouts."
    shown = run("plugins", "--all").out
    assert shown.startswith("built in (grounding-rewards 0.1.0)\n  dialects   action_blink")
    assert shown.rstrip().endswith("acme/silent")


def test_families_are_listed_with_their_source_and_what_is_none_is_an_error(run, installed):
    table = {"like": "gta1", "names": "lab", "source": "us", "seen": "code", "example": ["(1, 2)", [9, 9], [1, 2]]}
    installed(point("lab", "lab-package", families=lambda register: register("mine", table)))
    assert run("plugins").out.splitlines()[1].split() == ["families", "lab/mine", "us"]
    installed(point("lab", "lab-package", families=lambda register: register("mine", "gta1")))
    assert (
        "family 'lab/mine': got 'gta1'; expected a table such as [gta1] in families.toml, as a dict"
        in run("plugins").err
    )

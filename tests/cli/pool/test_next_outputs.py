"""Outputs that ``pool next`` replaces, and files that it leaves alone."""

from __future__ import annotations

import pytest

from tests.cli.command import names, read_rows, write_rows
from tests.cli.pool.test_next import GELATO, manifest_of, rollouts


@pytest.fixture
def source(tmp_path):
    return write_rows(tmp_path / "rollouts.jsonl", *GELATO)


def test_no_output_takes_the_place_of_an_input_or_becomes_part_of_one(run, source, tmp_path):
    assert "is the input itself" in run.error("pool", "next", source, "--out", source)
    inside = tmp_path / "pool.jsonl"
    assert "lies in the input" in run.error("pool", "next", tmp_path, "--out", inside)
    assert "ends in .jsonl" in run.error("pool", "next", source, "--out", tmp_path / "pool.csv")
    assert "there is no directory" in run.error("pool", "next", source, "--out", tmp_path / "no" / "pool.jsonl")
    assert "ends in .jsonl" in run.error("pool", "next", source, "--out", "")
    assert names(tmp_path) == ["rollouts.jsonl"]


def test_neither_links_nor_dots_lead_into_an_input(run, tmp_path):
    for name in ("in", "apart"):
        (tmp_path / name).mkdir()
    write_rows(tmp_path / "in" / "rollouts.jsonl", *GELATO)
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "pool.jsonl").symlink_to("in/pool.jsonl")
    (tmp_path / "apart" / "pool.easy.jsonl").symlink_to("../in/pool.easy.jsonl")
    for given, out in [
        ("in", "apart/../in/pool.jsonl"),
        ("in", "link/pool.jsonl"),
        ("link", "in/pool.jsonl"),
        ("in", "pool.jsonl"),
        ("in", "apart/pool.jsonl"),
    ]:
        assert "lies in the input" in run.error("pool", "next", tmp_path / given, "--out", f"{tmp_path}/{out}")
    assert names(tmp_path / "in") == ["rollouts.jsonl"]


@pytest.mark.parametrize(
    "name", ["pool.easy.jsonl", "pool.suspects.jsonl", "pool.control.jsonl", "pool.jsonl.manifest.json"]
)
def test_what_is_written_beside_a_pool_replaces_neither_a_directory_nor_an_input(run, source, tmp_path, name):
    out, beside = tmp_path / "pool.jsonl", tmp_path / name
    out.write_text("old")
    beside.mkdir()
    assert f"{beside}: is no file" in run.error("pool", "next", source, "--out", out)
    beside.rmdir()
    beside.symlink_to(source)
    assert f"{beside}: is the input itself" in run.error("pool", "next", source, "--out", out)
    assert (out.read_text(), len(read_rows(source))) == ("old", 400)


@pytest.mark.parametrize("manifest", [None, "{}", '{"outputs": [{"path": ["pool.easy.jsonl"]}]}', "[" * 100_000])
def test_a_file_that_no_run_set_aside_is_not_replaced(run, source, tmp_path, manifest):
    (tmp_path / "pool.easy.jsonl").write_text("mine")
    if manifest is not None:
        (tmp_path / "pool.jsonl.manifest.json").write_text(manifest)
    message = run.error("pool", "next", source, "--out", tmp_path / "pool.jsonl")
    assert "pool.easy.jsonl: exists, and no pool.jsonl.manifest.json lists it, so it is not replaced" in message
    assert (tmp_path / "pool.easy.jsonl").read_text() == "mine"
    assert not (tmp_path / "pool.jsonl").exists()


def test_weights_that_choose_nothing_are_a_note(run, tmp_path):
    source, out = write_rows(tmp_path / "r.jsonl", *rollouts(("one", 3, 1), ("four", 3, 4))), tmp_path / "pool.jsonl"
    note = "note: weights steer draws, and all 6 sometimes-solved samples fit without one; --limit N draws some of them"
    words = ("pool", "next", source, "--out", out, "--zero-share", 0, "--selector", "learnability")
    assert note in run(*words).err.splitlines()
    assert manifest_of(out)["idle_weights"]
    assert note not in run(*words, "--limit", 4).err
    assert not manifest_of(out)["idle_weights"]
    assert note not in run(*words[:-1], "unsolved").err  # weights of 1 alone

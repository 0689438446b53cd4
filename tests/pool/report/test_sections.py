"""Sentences of a page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grounding_rewards.pool.report.rounds import Round, report
from grounding_rewards.pool.report.sections import sections
from tests.pool.report.made import rounds, shown, stats


def said(found, key, kind):
    """Return the only block of a kind in a section."""
    (held,) = [section["blocks"] for section in sections(found) if section["key"] == key]
    (block,) = [block for block in held if block["kind"] == kind]
    return block


def test_with_one_rollout_a_sample_chance_is_the_prior_alone():
    single = [Round(name, stats([1, 1], right)) for name, right in (("1", [0, 1]), ("2", [1, 1]))]
    moved = said(report("", single), "transitions", "text")["lines"]
    (line,) = (line for line in moved if "prior, Beta" in line)
    assert line.startswith("with one rollout a sample a lucky hit looks like a sure one")
    assert "of 1 never-solved sample 1 was solved at least once, 100.0 %" in " ".join(map(str, moved))
    moved = said(report("", rounds()), "transitions", "text")["lines"]
    assert "the counts expected by chance use this prior of pass rates: Beta(0.367, 0.642)" in moved


def test_a_prior_of_one_rate_says_the_rate():
    level = [Round(name, stats([4] * 5, [2] * 5)) for name in "12"]
    moved = said(report("", level), "transitions", "text")["lines"]
    assert "use this prior of pass rates: one rate of 50.0 % for all samples" in moved[-1]


def test_samples_are_those_of_the_round_that_is_named():
    found = {section["key"]: section["lead"] for section in sections(report("", rounds()[:1], hardest=[shown()]))}
    assert found["hardest"].startswith("Never solved in round 1: those with most rollouts first")
    assert found["suspects"].startswith("Never solved in round 1, yet their clicks agree")


def test_what_is_lower_than_the_best_and_not_hotter_has_not_collapsed():
    cool, hot = stats([2] * 30, [0] * 30), stats([2] * 30, [2] * 30)
    swept = report("", [], by_temperature={0.7: cool, 1.0: hot, 1.4: cool})
    part = said(swept, "temperature", "table")
    assert [row[part["heads"].index("verdict")] for row in part["rows"]] == [
        "lower accuracy",
        "held",
        "collapsed",
    ]


def test_rollouts_of_a_sample_are_all_and_places_that_are_missing_are_said():
    bare = shown(clicks=np.array([[0.5, 0.5], [1.5, 0.5]]), outlines=(), unscored=2)
    plain = dict(said(report("", [], hardest=[bare]), "hardest", "facts")["facts"])
    assert plain["rollouts"] == "6, 2 of them not scored, none of them right"
    assert plain["clicks"] == "1 of 2 outside of the screen"
    assert plain["target"] == "its place is not known"
    part = said(report("", [], hardest=[replace(bare, clicks=np.zeros((0, 2)), unscored=0)]), "hardest", "facts")
    assert dict(part["facts"])["rollouts"] == "4, none of them right"


def test_rounds_of_several_temperatures_are_remarked_on():
    warm = replace(rounds()[0], temperatures=(0.7, 1.0, 1.3, 1.6))
    lead, plain = (next(sections(report("", [each])))["lead"] for each in (warm, rounds()[0]))
    text = " round 1: rollouts at temperatures 0.7, 1, 1.3, 1.6 count together, and pass rates mix them."
    assert lead.endswith(text)
    assert text not in plain

"""Rollouts of sessions, by the names of their files."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def rollouts(*kinds: tuple[str, int, int], n: int = 8, **columns: Any) -> list[Row]:
    """Return rows of (name, how many samples, right rollouts of n); the name is the source."""
    return [
        {"sample_id": f"{name}{sample}", "rollout": rollout, "acc": int(rollout < right), "source": name, **columns}
        for name, samples, right in kinds
        for sample in range(samples)
        for rollout in range(n)
    ]


def counted(counts: dict[str, int], n: int = 8, **columns: Any) -> list[Row]:
    """Return n rollouts of each sample, of which so many are right."""
    return [
        {"sample_id": name, "rollout": rollout, "acc": float(rollout < right), **columns}
        for name, right in counts.items()
        for rollout in range(n)
    ]


def warm(temperature: float | None, right: int, samples: int = 40, **columns: Any) -> list[Row]:
    """Return four rollouts a sample: half of the samples are never solved, the others ``right`` of 4 times."""
    said = {} if temperature is None else {"temperature": temperature}
    return [
        {"sample_id": f"s{sample}", "rollout": rollout, "acc": int(sample % 2 and rollout < right),
         "response": f"({rollout % 2}, 1)", "reason": "OK", **said, **columns}
        for sample in range(samples)
        for rollout in range(4)
    ]  # fmt: skip


def banded(rates: dict[str, int], samples: int = 24, n: int = 10) -> list[Row]:
    """Return samples s00, s01, ... of easy, medium, hard by turns; the last is right once, so that it is in no band."""
    return [
        {"sample_id": f"s{place:02d}", "difficulty": band, "source": "web" if place % 2 else "app", "rollout": each,
         "acc": int(each < (1 if place == samples - 1 else rates[band]))}
        for place in range(samples) for band in [list(rates)[place % 3]] for each in range(n)
    ]  # fmt: skip


GELATO = rollouts(("easy", 8, 8), ("part", 12, 3), ("zero", 30, 0))
IDS = list(dict.fromkeys(row["sample_id"] for row in GELATO))
SEEN = {"x_unit": 0.7, "y_unit": 0.7, "image_size": [1000, 1000]}
BEFORE = {"a": 0, "b": 0, "c": 3, "d": 7, "e": 8, "f": 5}
AFTER = {"a": 0, "b": 2, "c": 8, "d": 8, "f": 4, "g": 1}
RATES = {"easy": 10, "medium": 7, "hard": 4}
POLICIES = [("a", "weak", 1), ("a", "strong", 3), ("b", "weak", 2), ("c", "strong", 2)]

INPUTS: dict[str, list[Row]] = {
    "gelato.jsonl": GELATO,
    "bare.jsonl": [{"sample_id": row["sample_id"], "correct": bool(row["acc"])} for row in GELATO],
    "short.jsonl": rollouts(("part", 80, 3), ("zero", 5, 0), n=4),
    "warmer.jsonl": [
        *rollouts(("a", 4, 3), ("b", 1, 8), round=1, temperature=1.1),
        *rollouts(("a", 4, 8), ("b", 1, 2), round=2, temperature=1.7),
    ],
    "third.jsonl": [{**row, "round": 3, "temperature": 1.1} for row in GELATO],
    "more.jsonl": [{**row, "rollout": row["rollout"] + 8} for row in GELATO],
    "weak.jsonl": [{"sample_id": each, "acc": each == "part0"} for each in IDS],
    "strong.jsonl": [{"sample_id": each, "acc": each != "part1"} for each in IDS],
    "train.jsonl": [
        *({"sample_id": each} for each in IDS if each not in ("part0", "part1")), {"sample_id": "more"},
        {"prompt": "nameless"},
    ],
    "suspects.jsonl": [
        *({**row, **SEEN} for row in rollouts(("zero", 5, 0))), *rollouts(("part", 4, 2), ("far", 5, 0)),
    ],
    "four.jsonl": [
        *({**row, **SEEN, "source": None} for row in rollouts(("zero", 4, 0))), *rollouts(("part", 4, 2)),
    ],
    "one.jsonl": [
        {**row, **SEEN} if row["sample_id"] == "zero1" else row for row in rollouts(("part", 4, 2), ("zero", 3, 0))
    ],
    "apart.jsonl": [
        *({**row, **SEEN, "target": '{"bbox": [0, 0, 10, 10]}', "x_unit": 0.7 + row["rollout"] * 0.005}
          for row in rollouts(("zero", 2, 0))),
        *rollouts(("part", 4, 2)),
    ],
    "kinds.jsonl": [
        *rollouts(*((f"k{right}-", 1, right) for right in (4, 2, 0, 8, 1, 3)), **{**SEEN, "kind": "icon", "web": None}),
        {"sample_id": "u", "rollout": 0, "acc": None, "kind": "icon"},
    ],
    "long.jsonl": [
        {"sample_id": f"s{n:02}", "rollout": each, "acc": int(each == 0)} for n in range(1, 31) for each in range(n)
    ],
    "chosen.jsonl": [
        {"sample_id": "b", "round": 1, "rollout": 0, "acc": 1, "total": 0.5, "extra": {"k": [1]}, "note": None},
        {"sample_id": "a", "round": 1, "rollout": 0, "acc": 1, "total": 1.0, "target": {"bbox": [1, 2, 3, 4]}},
        {"sample_id": "a", "round": 1, "rollout": 1, "acc": 1, "total": 0.75, "response": "(1, 2)"},
        {"sample_id": "a", "round": 1, "rollout": 2, "acc": None, "total": None},
        {"sample_id": "a", "round": 1, "rollout": 3, "acc": 0, "total": 0.0},
        {"sample_id": "a", "round": 2, "rollout": 0, "acc": 0, "total": 0.0},
    ],
    "few.jsonl": [
        *({"sample_id": "easy", "acc": 1, "source": "web", "rollout": each, "policy": None} for each in range(4)),
        *({"sample_id": "hard", "acc": 0, "source": "app", "rollout": each} for each in range(4)),
        *({"sample_id": "some", "acc": each % 2, "source": "app", "rollout": each} for each in range(4)),
        {"sample_id": "some", "acc": None, "source": "app", "rollout": 4},
    ],
    "policies.jsonl": [
        {"sample_id": "d", "policy": "weak", "acc": None},
        {"sample_id": "e", "policy": None, "acc": 1},
        *({"sample_id": sample, "policy": policy, "acc": int(number < right)}
          for sample, policy, right in POLICIES for number in range(4)),
    ],
    "rounds.jsonl": [
        {"sample_id": sample, "round": number, "rollout": each, "acc": int(each < right)}
        for sample in "ab" for number, right in ((1, 1), (2, 2), (10, 3)) for each in range(4)
    ],
    "before.jsonl": counted(BEFORE, round=1, temperature=1.1, source="web", app="x"),
    "after.jsonl": counted(AFTER, round=2, temperature=1.7, source="web", app="x"),
    "both.jsonl": [*counted(BEFORE, round=1), *counted(AFTER, round=2)],
    "null.jsonl": counted({**BEFORE, "b": 1}),
    "level.jsonl": counted({f"s{place}": 4 for place in range(9)}),
    "low.jsonl": counted({f"s{place}": int(place < 8) for place in range(30)}),
    "spike.jsonl": counted({f"s{place}": max(place - 400, 0) % 9 for place in range(1003)}),
    "other.jsonl": counted({"x": 1, "y": 2}),
    "sweep.jsonl": [*counted(BEFORE, temperature=1.1), *counted(AFTER, temperature=1.7)],
    "plain.jsonl": counted(AFTER),
    "mixed.jsonl": [
        {**row, "temperature": 1.1 if row["rollout"] < 4 else 1.7} for row in counted(BEFORE, round=1)
    ],
    "swept.jsonl": [row for each, right in {1.1: 4, 1.4: 4, 1.7: 3, 2.0: 1}.items() for row in warm(each, right)],
    "cool.jsonl": warm(None, 4),
    "hot.jsonl": warm(None, 1),
    "lower.jsonl": [*warm(0.5, 1), *warm(1.0, 4), *warm(1.5, 1)],
    "two.jsonl": [*warm(1.0, 4, round=1), *warm(1.5, 4, round=1), *warm(1.5, 0, round=2)],
    "r1.jsonl": warm(0.7, 4, round=1, policy="a"),
    "r2.jsonl": warm(1.5, 1, round=2, policy="a"),
    "b1.jsonl": warm(1.5, 1, round=1, policy="b"),
    "banded.jsonl": banded(RATES),
    "declared.jsonl": banded(RATES, samples=90),
    "gaps.jsonl": [
        {"sample_id": f"{band}{source}{each}", "acc": int(band == "easy"), "band": band, "source": source}
        for band, source in [("easy", "web"), ("hard", "web"), ("easy", "app")]
        for each in range(40)
    ],
    "inverted.jsonl": [
        {"sample_id": f"{band}-{place % 40}", "rollout": place, "acc": int(place < right), "band": band}
        for band, right in {"easy": 188, "medium": 200, "hard": 200}.items()
        for place in range(200)
    ],
    "learnt.jsonl": [
        {"sample_id": name, "round": number, "rollout": each, "acc": int((name == "a") == (number == 2)), "band": band}
        for name, band in {"a": "easy", "b": "hard"}.items()
        for number in (1, 2)
        for each in range(20)
    ],
    "data.jsonl": [{"id": f"s{place:02d}", "prompt": f"click {place}"} for place in range(30)],
}  # fmt: skip

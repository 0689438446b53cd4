"""Every registered verifier keeps what all verifiers promise, over generated rollouts of all kinds."""

import inspect

import pytest

from grounding_rewards.plugins import BUILT_IN, collect
from grounding_rewards.testing import check_verifier

VERIFIERS = collect([]).verifiers
ARGUMENTS = {"noise": {"amplitude": 0.1}, "difficulty": {"most": 2.0}}
SCALE = {"scale": True}
BOTH = {"scale": True, "translation": True}
INVARIANT = {name: BOTH for name in VERIFIERS}


def build(name):
    """With default arguments, or those of the table above."""
    kind = VERIFIERS[name]
    needed = [
        each.name
        for each in inspect.signature(kind).parameters.values()
        if each.default is inspect.Parameter.empty and each.name not in ARGUMENTS.get(name, {})
    ]
    assert not needed, f"{BUILT_IN} verifier {name!r}: add {needed} to ARGUMENTS"
    return kind(**ARGUMENTS.get(name, {}))


@pytest.mark.parametrize("name", VERIFIERS)
def test_it_keeps_its_promises(name):
    check_verifier(build(name), **INVARIANT.get(name, {}))

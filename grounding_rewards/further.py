"""What a recipe may look at beside responses, targets and sizes."""

from __future__ import annotations

from grounding_rewards.combine import is_combination
from grounding_rewards.scoring import Recipe
from grounding_rewards.verifiers import Verifier


def reads_further(recipe: Recipe) -> bool:
    """Whether scores may depend on ``token_lengths`` or ``extras``: code of one's own may look at both.

    >>> from grounding_rewards import recipe
    >>> reads_further(recipe("gelato")), reads_further(recipe("ui-r1-dast"))
    (False, True)
    """
    return _reads(recipe.reward) or _reads(recipe.success)


def _reads(term: Verifier) -> bool:
    """What a verifier declares as ``reads_further``; one that declares nothing does, unless it is of this package."""
    if getattr(term, "reads_further", not type(term).__module__.startswith("grounding_rewards.")):
        return True
    return is_combination(term) and any(_reads(child) for _, child in term.children)

"""Why a response is paid what it is paid."""

import sys
from types import ModuleType

from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explaining import explain
from grounding_rewards.explain.explanation import Explanation

__all__ = ["Case", "Explanation", "explain"]


class _Room(ModuleType):
    """Call the function by the name of its room, which the import system binds: ``gr.explain(recipe, case)``."""

    __call__ = staticmethod(explain)


sys.modules[__name__].__class__ = _Room

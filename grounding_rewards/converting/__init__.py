"""Convert rows of a data set into the rows that a trainer reads; ``run`` handles the files.

>>> from grounding_rewards.coords.spaces import PIXEL
>>> reading = Reading(Columns("ask", target="box"), Truths(space=PIXEL))
>>> found = read_rows([{"ask": "Save", "box": [1, 2, 3, 4], "id": "a"}], reading)
>>> FORMS["easyr1"].row(found.samples[0])["problem"]
'Save'
"""

from grounding_rewards.converting import easyr1, trl, verl
from grounding_rewards.converting.columns import Columns, Found, Survey, find_columns
from grounding_rewards.converting.layout import Form
from grounding_rewards.converting.prompts import Wording
from grounding_rewards.converting.samples import Read, Reading, Sample, read_rows
from grounding_rewards.converting.targets import Truths

FORMS = {form.name: form for form in (verl.FORM, trl.FORM, easyr1.FORM)}
"""Trainers by name."""

__all__ = [
    "FORMS", "Columns", "Form", "Found", "Read", "Reading", "Sample", "Survey", "Truths", "Wording",
    "find_columns", "read_rows",
]  # fmt: skip

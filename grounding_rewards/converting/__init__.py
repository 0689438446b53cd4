"""Convert rows of a data set into the rows that a trainer reads; ``run`` handles the files.

>>> from grounding_rewards.coords.spaces import PIXEL
>>> reading = Reading(ColumnNames("ask", target="box"), TargetReader(space=PIXEL))
>>> read = read_rows([{"ask": "Save", "box": [1, 2, 3, 4], "id": "a"}], reading)
>>> LAYOUTS["easyr1"].row(read.samples[0])["problem"]
'Save'
"""

from grounding_rewards.converting.layouts import LAYOUTS, Layout
from grounding_rewards.converting.prompts import Wording
from grounding_rewards.converting.samples import ColumnNames, Reading, ReadRows, Sample, TargetReader, read_rows

__all__ = [
    "LAYOUTS", "ColumnNames", "Layout", "ReadRows", "Reading", "Sample", "TargetReader", "Wording", "read_rows",
]  # fmt: skip

"""The page of training sets has the layouts that are read."""

from __future__ import annotations

from grounding_rewards.tables.training_sets import training_sets
from tests.docs.test_reference import DOCS, rows


def test_the_table_has_every_layout_with_its_place_and_space():
    table = rows((DOCS / "training-sets.md").read_text("utf-8").partition("## Rows")[0])[1:]
    for (name, files, place, space, seen), known in zip(table, training_sets(), strict=True):
        bound = f" of at most {known.max_pixels:,}" if known.max_pixels else ""
        shown = " + ".join(f"`{each}`" for each in known.place).replace("`", "")
        assert (name, files, place.replace("`", ""), seen) == (known.name, known.published, shown, known.seen)
        assert space.startswith(f"{known.space}{bound}")
        assert ("times" in space) == (known.scale != 1)

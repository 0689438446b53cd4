"""Columns of a table that scoring reads: named by options, else by their own names, a benchmark's layout or a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from grounding_rewards.batch.layouts import LAYOUTS, Layout, lacking, layout_of
from grounding_rewards.errors import TableError
from grounding_rewards.tables.columns import GUESSED, NONE, columns_read, find_columns, guess_note, offered
from grounding_rewards.tables.rows import Table, first_rows, require_column
from grounding_rewards.targets.box_format import BoxFormat


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns: each attribute stands for what the column holds; "" for one that is still open.

    ``a.b`` is the field b of the column a, ``a,b`` are two columns with a width and a height (four with a box), or
    with places of two kinds, of which each row has one; "none" is no column.
    """

    response: str = ""
    target: str = ""
    image_size: str = ""
    model_image_size: str = ""
    id: str = ""
    token_length: str = ""
    image: str = ""
    refusal: str = ""

    def another(self, field: str) -> str:
        """Return the end of an error about what a column holds: the flag that names another, if it was named so."""
        return "" if getattr(self, field) == getattr(OWN, field) else f"; --{role(field)}-column names another"

    def over(self, others: Mapping[str, str]) -> Columns:
        """Return these names, and others in place of those that are open."""
        return Columns(**{field: name or others.get(field, "") for field, name in vars(self).items()})


def role(field: str) -> str:
    """Return the role of an attribute of ``Columns``, as options name it."""
    return field.replace("_", "-")


OWN = Columns(**{**{field: GUESSED[role(field)][0] for field in vars(Columns())}, "refusal": NONE})
"""Names that are taken without a word: those of a rollout table, mostly."""


class ResolvedColumns(Struct, frozen=True):
    """Columns of one table."""

    columns: Columns  # a name for each; its own where the table has none
    layout: Layout | None = None  # the benchmark's layout that says where targets are
    # attributes of ``columns`` that were guessed: what targets say themselves goes before them
    guessed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()  # a line for each guess, and for the layout
    no_image: str = ""  # why no column of images is known


def resolve(
    table: Table,
    columns: Columns,
    *,
    label_free: bool = False,
    answered: bool = True,
    box_format: BoxFormat | None = None,
    layouts: Sequence[Layout] | None = None,
) -> ResolvedColumns:
    """Resolve the columns of a table that have no name yet; responses are still to come unless it is ``answered``."""
    there = frozenset(table.columns)
    named = _named(table, columns, label_free=label_free)
    rows = _first_rows(table, named, there, layouts or LAYOUTS)
    try:
        layout = layout_of(rows, there, box_format, named.target, layouts)
        if layout is None and layouts and not named.target:
            raise TableError(lacking(layouts, there))
        if layout is not None:
            own = {field: name for field, name in layout.columns.items() if has(table, name)}
            named = named.over({"target": layout.target, **own})
        asked = {role(field): name or None for field, name in vars(named).items() if field != "image"}
        # A column named for one thing is no guess for another.
        taken = there.intersection([*vars(named).values(), *(layout.reads if layout else ())])
        chosen, guesses, remarks = find_columns(rows, asked, dropped=taken)
        if named.image:
            find_columns(rows, {"image": named.image})
    except TableError as error:
        raise TableError(f"{table.path}: {error}") from None
    needed = [name for name, read in (("response", answered), ("target", not label_free)) if read]
    _check_needed(table, needed, chosen, remarks)
    image, no_image = (named.image, "") if named.image else _image(rows)
    notes = [guess_note(name, column) for name, column in guesses.items()]
    notes += [text for text in remarks if text.partition(":")[0] not in guesses]
    fields = {name.replace("-", "_"): column for name, column in chosen.items()}
    refused = {field: name for field, name in vars(columns).items() if name == NONE}
    known = Columns(**fields, image=image).over(refused).over(vars(OWN))
    return ResolvedColumns(known, layout, frozenset(name.replace("-", "_") for name in guesses), tuple(notes), no_image)


def _named(table: Table, columns: Columns, *, label_free: bool) -> Columns:
    """Return the columns with those of their own names, which are taken before any guess."""
    for field, name in vars(columns).items():
        if name not in ("", NONE) and not {".", ","} & {*name}:
            require_column(table, name, f"--{role(field)}-column")
    joined_by = {"id": getattr(table, "id", "")}  # of a joined table
    named = columns.over(joined_by).over({field: name for field, name in vars(OWN).items() if name in table.columns})
    return named.over({"target": NONE, "refusal": NONE}) if label_free else named


def has(table: Table, name: str) -> bool:
    """Return True where a table has a column, or those in which ``a.b`` or ``a,b`` stand."""
    return name in table.columns or (
        bool({".", ","} & {*name}) and all(part.partition(".")[0] in table.columns for part in name.split(","))
    )


def _first_rows(
    table: Table, named: Columns, there: frozenset[str], layouts: Sequence[Layout]
) -> Sequence[Mapping[str, Any]]:
    """Return a row of nulls in every column, and the first rows where a guess, a field or a layout depends on them."""
    empty: dict[str, Any] = dict.fromkeys(table.columns)
    by_role = {role(field): name for field, name in vars(named).items() if field != "image"}
    named_fields = [column for column in vars(named).values() if column and column not in there]
    open_roles = [name for name, column in by_role.items() if not column]
    tiers = [tier for name in open_roles for tier in offered(name, there)]
    likely = [name for tier in tiers for name in tier]
    known = (each.fields for each in layouts if each.fields <= there and named.target in ("", each.target))
    read = {*columns_read([*named_fields, *likely, *_with_fields(table, open_roles)])}.union(*known)
    return [empty, *(first_rows(table, read) if there & read else ())]


def _with_fields(table: Table, roles: Sequence[str]) -> Sequence[str]:
    """Return the columns that may have fields of these roles."""
    schema = table.schema
    if not {"response", "target"} & {*roles}:
        return ()
    if schema is None:
        return table.columns
    from grounding_rewards.tables.arrow_rows import holds_bytes  # pyarrow, which JSON does without

    return [each.name for each in schema if hasattr(each.type, "fields") and not holds_bytes(each.type)]


def _check_needed(table: Table, needed: Sequence[str], chosen: Mapping[str, str], remarks: Sequence[str]) -> None:
    """Check that the columns are there without which nothing can be scored."""
    for name in needed:
        if chosen.get(name) is None:
            try:
                require_column(table, name, f"--{name}-column")
            except TableError as error:
                why = [text for text in remarks if text.startswith(name)]
                if {*needed} & chosen.keys():  # one of the two is there
                    why.append("where it is in another file, join the two: ANNOTATIONS --predictions ANSWERS")
                raise TableError("; ".join([str(error), *why])) from None


def _image(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the column of images, "" where none is known, and why: most scores do without."""
    try:
        chosen, _, remarks = find_columns(rows, {"image": None})
    except TableError as error:
        return "", str(error)
    return chosen.get("image", ""), "; ".join(remarks) or "no column of a usual name holds images (--image-column)"

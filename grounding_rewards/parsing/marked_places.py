"""Places for ``auto`` that stand in tags, tokens and crops, and behind keys without brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from grounding_rewards.actions import Act, is_known
from grounding_rewards.parsing.bare_places import Candidate, is_cut, parts
from grounding_rewards.parsing.objects import MOST, act_of
from grounding_rewards.parsing.patterns import GAP, PLACE, SPACES
from grounding_rewards.parsing.readers import read_cropped, read_points
from grounding_rewards.parsing.texts import NUMBER, SPACE, number, on_use

_TAGS = on_use(
    rf"<\|box_start\|>{SPACE}{PLACE}<\|box_end\|>"
    rf"|<(?P<tag>[A-Za-z_]{{3,20}})>{SPACE}{PLACE.replace('?P<', '?P<t')}</?(?P=tag)>"
    rf"|<x>{SPACE}(?P<ax>{NUMBER}){SPACE}</x>{SPACE}(?:,{SPACE})?<y>{SPACE}(?P<ay>{NUMBER}){SPACE}</y>"
    rf"""|<points? coords=["'][^"'<>]*["'](?:[^<>]*>[^<>]*</points?>)?"""
    rf"""|<points?(?P<percent>(?:[ \t]+[xy][0-9]{{0,3}}=["']{NUMBER}["'])+)(?:[^<>]*>[^<>]*</points?>)?"""
    r"|(?P<locations>(?:<loc_?[0-9]{1,4}>)+)|(?P<patches>(?:<patch_index_[0-9]{1,4}>)+)"
    r"|<(?P<element>[A-Za-z_]{2,20})"
    rf"""(?P<attributes>(?:[ \t\n]+[A-Za-z_0-9]{{1,20}}=["'][^"'<>]{{0,200}}["'])+){SPACE}/?>"""
    rf"|<(?P<cx1>{NUMBER}){SPACE},{SPACE}(?P<cy1>{NUMBER}){SPACE},{SPACE}(?P<cx2>{NUMBER}){SPACE},{SPACE}(?P<cy2>{NUMBER})>"
)
_KEYS_OF_PLACES = [
    [prefix + name for name in names]
    for names in (("x", "y"), ("x1", "y1", "x2", "y2"))
    for prefix in ("", "t", "a", "c")
    if not (prefix == "a" and len(names) == 4) and not (prefix == "c" and len(names) == 2)
]


_TAGS_OF_POINTS = frozenset({"point", "position", "center"})
_TAGS_OF_PLACES = frozenset({*_TAGS_OF_POINTS, "box", "bbox", "coordinate", "coordinates", "answer"})


def _named_by(tag: str) -> str:
    return tag if is_known(tag) and tag.lower() not in _TAGS_OF_PLACES else ""


_ATTRIBUTE = re.compile(r"""([A-Za-z_0-9]+)=(["'])([^"'<>]*)["']""")
_AXIS = on_use(rf"""[xy][0-9]{{0,3}}=["']({NUMBER})["']""")
_INDEX = re.compile("[0-9]+")
_PATCHES = 32  # Kosmos-2's along each side


def _of_patches(indices: list[int]) -> tuple[float, ...]:
    """The centres of patches, in patches from the left and the top."""
    return tuple([side + 0.5 for index in indices for side in (index % _PATCHES, index // _PATCHES)])


def tags_in(text: str) -> Iterator[Candidate]:
    """Places in tags, in their attributes, and in tokens."""
    for match in _TAGS.finditer(text):
        if "coords=" in match[0]:
            places = read_points(match[0]) or []
            if not places:
                yield Candidate(*match.span(), "molmo", None)
            for place, (begin, end) in zip(places, parts(*match.span(), len(places)), strict=True):
                yield Candidate(begin, end, "molmo", Act("", tuple(place)))
            continue
        if match["percent"]:
            found = [number(numeral) for numeral in _AXIS.findall(match["percent"])]
            pairs = list(zip(found[::2], found[1::2], strict=False))
            for pair, (begin, end) in zip(pairs, parts(*match.span(), len(pairs)), strict=True):
                yield Candidate(begin, end, "molmo", Act("", pair))
            continue
        if match["locations"] or match["patches"]:
            indices = [int(numeral) for numeral in _INDEX.findall(match[0])]
            place = _of_patches(indices) if match["patches"] else tuple(map(float, indices))
            yield Candidate(*match.span(), "location_tokens", Act("", place) if len(place) == 4 else None)
            continue
        groups = match.groupdict()
        if groups["element"]:
            item: dict[str, Any] = {key: value for key, _, value in _ATTRIBUTE.findall(groups["attributes"])}
            act = act_of({"action": _named_by(groups["element"]), **item} if _named_by(groups["element"]) else item)
            if act is not None and act.place:
                yield Candidate(*match.span(), "xy_tags", act)
            continue
        keys = next(keys for keys in _KEYS_OF_PLACES if groups.get(keys[0]))
        place = tuple([number(groups[key]) for key in keys])
        tag = groups["tag"] or ""
        named = _named_by(tag)
        bracketed = tag == "answer" and match[0][len("<answer>") :].lstrip()[:1] in ("(", "[")
        if tag and not named and (bracketed or tag.lower() not in _TAGS_OF_PLACES):
            continue
        form = "point_tag" if tag.lower() in _TAGS_OF_POINTS else "bare_numbers" if tag == "answer" else "box_tokens"
        form = "xy_tags" if groups["ax"] else form
        yield Candidate(*match.span(), form, Act(named, place))


_CROP = on_use(rf"\({SPACE}Image_")


def crops_in(text: str) -> Iterator[Candidate]:
    """Places in crops, as one after the other."""
    begins = [match.start() for match in _CROP.finditer(text)][:MOST]
    if not begins:
        return
    end = text.rfind(")") + 1
    places = read_cropped(text) or []
    if not places:
        yield Candidate(begins[0], max(end, begins[0] + 1), "cropped", None)
    for place, (first, last) in zip(
        places, parts(begins[0], max(end, begins[0] + len(places)), len(places)), strict=True
    ):
        yield Candidate(first, last, "cropped", Act("", tuple(place)))


_BARE = rf"(?P<x1>{NUMBER}){GAP}(?P<y1>{NUMBER})(?:{GAP}(?P<x2>{NUMBER}){GAP}(?P<y2>{NUMBER}))?"
_FIELD = on_use(
    rf"(?:^|[^A-Za-z_\"'])(?:(?P<key>point|coordinates?|position|bbox|box|center|坐标){SPACE}[:=]{SPACE}{_BARE}(?![0-9.])"
    rf"|(?P<axis>[xX]){SPACE}[:=]{SPACE}(?P<ax>{NUMBER})(?:px)?(?:{GAP}|{SPACES}and{SPACES})"
    rf"[yY]{SPACE}[:=]{SPACE}(?P<ay>{NUMBER}))"
)
_TABBED = on_use(r"(?:^|[\t\n])(?P<line>action:[^\n]*)")


def fields_in(text: str) -> Iterator[Candidate]:
    """``point:x,y`` of Step-GUI, and its lines of ``key:value`` between tabs."""
    taken = -1
    for match in _TABBED.finditer(text):
        fields = dict(part.split(":", 1) for part in match["line"].split("\t") if ":" in part)
        item: dict[str, Any] = {key.strip(): value.strip() for key, value in fields.items()}
        if "\t" not in match["line"] or not is_known(item["action"]):
            continue
        begin, taken = match.start("line"), match.end()
        open_ended = taken == len(text) and any([is_cut(item.get(key, "")) for key in ("point", "point2")])  # noqa: C419
        if not item.get("point1"):
            item.pop("to", None)
        yield Candidate(
            begin,
            taken,
            "bare_numbers",
            None if open_ended and match["line"].endswith(item.get("point", "-")) else act_of(item),
        )
    for match in _FIELD.finditer(text):
        begin, end = max(match.start("key"), match.start("axis")), match.end()
        if begin < taken:
            continue
        place = tuple([number(match[key]) for key in ("x1", "y1", "x2", "y2", "ax", "ay") if match[key]])
        cut = end == len(text) and is_cut(match[0])
        yield Candidate(begin, end, "bare_numbers", None if cut else Act("", place))

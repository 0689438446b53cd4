"""One shard of a run of rollouts: samples in, rows of a rollout table out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from traceback import extract_tb
from typing import Any

import numpy as np
import pyarrow as pa

from grounding_rewards.batch.rollout_scorer import rescored
from grounding_rewards.converting.prompts import Message
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import extents
from grounding_rewards.engines.data import Data, Stretch
from grounding_rewards.engines.images import ModelImages, SeenImages, in_threads, token_problem
from grounding_rewards.engines.prompts import Prompt, usual_tokens
from grounding_rewards.engines.protocol import Answer, Reply, Request, Running
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.engines.zoom import Zooming, zoom
from grounding_rewards.errors import EngineError, GroundingRewardsError, TableError, short_repr
from grounding_rewards.scoring import Recipe
from grounding_rewards.settings.declared import is_whole
from grounding_rewards.tables.image_files import Image, read_images
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.rollout_columns import IMAGE_HASH, arrow
from grounding_rewards.tables.rows import value_at

_TEXT = 2**31 - 2**20  # bytes of all responses of a shard, which Arrow counts in 32 bits
_NAMED = 8  # samples of a shard that a remark names


@dataclass(frozen=True)
class Asked:
    """Prompt of one sample; ``problem`` says why there is none."""

    messages: tuple[Message, ...] = ()
    seen: SeenImages = field(default_factory=SeenImages)
    problem: str = ""
    image_hash: str | None = None
    image: Image | None = None  # the last one, for crops of it

    @property
    def text(self) -> str:
        """The texts of all messages."""
        return "\n".join(message.text for message in self.messages)


@dataclass(eq=False)
class Prepared:
    """Samples of a shard as rows of a rollout table, with their prompts and the responses that each gets."""

    samples: Any
    asked: Sequence[Asked]
    wanted: Sequence[int]
    place: str
    room: int  # bytes that are left for all responses
    remarks: dict[str, str] = field(default_factory=dict)  # what looks wrong with what the model saw, by kind

    def of(self, sample: int, column: str) -> Any:
        """Return what a sample's row says."""
        return self.samples.column(column)[sample].as_py()

    def held(self, answer: Answer) -> Answer:
        """Return an answer, in whose place stands a problem where the shard has no room for it."""
        size = len((answer.text or "").encode("utf-8", "surrogatepass"))
        if size > self.room:
            return Answer(None, problem="the responses of the shard have more than 2 GiB")
        self.room -= size
        return answer


def check_prompts(prepared: Prepared) -> None:
    """Check that some prompt can be made: where none can, settings are wrong, not rows."""
    if all(asked.problem for asked in prepared.asked):
        raise EngineError(
            f"no prompt of the first {len(prepared.asked)} samples can be made, that of {prepared.place} for this: "
            f"{prepared.asked[0].problem}"
        )


@dataclass(frozen=True, eq=False)
class Made:
    """Rows of a shard, and what looks wrong with the prompts that the model saw, by kind."""

    rows: Any
    remarks: dict[str, str]


@dataclass(eq=False)
class _Group:
    """Responses to one sample at one temperature."""

    sample: int
    temperature: float
    place: int
    most: int
    more: int
    seeds: list[int] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    reply: Reply | None = None
    zoomings: dict[int, Zooming] = field(default_factory=dict)  # by the answer's number


@dataclass(frozen=True, eq=False)
class ShardMaker:
    """Settings by which shards are made, each from its rows and a running engine alone."""

    data: Data  # the samples
    settings: RolloutSettings  # how many responses they get, and how these are sampled
    model: str  # name of the model
    prompt: Prompt  # makes the messages of a sample
    recipe: Recipe | None = None  # scores the responses; None leaves that to ``pool score``
    resizing: Resizing | None = None  # the way of images into the model; None for the engine's own

    def unknown_resizing(self, running: Running) -> str:
        """Return what it means that nobody knows how the model resizes images; "" where that is known."""
        if not self.data.image or self.resizing or running.resizing:
            return ""
        if stated := sorted({"width", "height"} & self.prompt.fields):
            raise EngineError(
                f"prompt {self.prompt.name!r:.200} states the size of the image that the model sees "
                f"({', '.join(stated)}), and how this model resizes images is unknown; name its way by --pipeline, and "
                "its bounds by --min-pixels and --max-pixels"
            )
        return "how the model resizes images is unknown, so that they are sent as they are; --pipeline says it"

    def prepared(self, stretch: Stretch, engines: Resizing | None) -> Prepared:
        """Return the samples with their prompts and images, resized as ``resizing`` or the engine's own says."""
        images = ModelImages(self.data.files, self.resizing or engines)
        asked = in_threads(lambda row: self._asked(row, images), stretch.batch.rows)
        place = f"{self.data.table.path}, {stretch.batch.place(0)}"
        return Prepared(self.data.reader.unscored(stretch.batch), asked, stretch.wanted, place, _TEXT)

    def _asked(self, row: Any, images: ModelImages) -> Asked:
        try:
            shown = read_images(value_at(row, self.data.image)) if self.data.image else ()
            seen = images.read(shown)
            width, height = seen.model_image_size or (None, None)
            original = seen.image_size or (None, None)
            fields = {"width": width, "height": height, "image_width": original[0], "image_height": original[1]}
            instruction = value_at(row, self.data.instruction)
            messages = self.prompt.messages(instruction, len(seen.files), {**fields, "row": row})
            image = shown[-1] if shown and self.settings.zoom else None
            return Asked(messages, seen, image_hash=_hashed(shown) if self.data.hashes else None, image=image)
        except EngineError:
            raise
        except GroundingRewardsError as error:
            return Asked(problem=str(error))

    def answered(self, prepared: Prepared, running: Running) -> Made:
        """Ask for the responses, and return the rows with them, scored if a recipe is named."""
        groups = list(self._groups(prepared))
        self._check_tokens(prepared, running)
        while pending := [group for group in groups if group.more]:
            requests = [self._request(prepared, group, running) for group in pending]
            for group, reply in zip(pending, self._ask(requests, prepared, running), strict=True):
                group.answers += reply.answers
                group.reply, group.more = reply, 0
                self._check(prepared, group, reply, running)
            if self.recipe is not None and self.settings.zoom:
                self._zoom(prepared, zip(pending, requests, strict=True), running, self.recipe)
            if self.settings.most is not None:
                self._go_on(prepared, groups)
        rows = self._rows(prepared, groups)
        if why := self._why_unscored(rows):
            prepared.remarks["scores"] = why
        return Made(rows, prepared.remarks)

    def _check_tokens(self, prepared: Prepared, running: Running) -> None:
        """Remark on samples whose prompts hold what a server may take for the end of a message, or its beginning."""
        if getattr(running, "control_tokens", False):
            return
        own = {*usual_tokens(f"{self.prompt.template}\n{self.prompt.system}")}
        found = [(row, each) for row, asked in enumerate(prepared.asked) for each in usual_tokens(asked.text)]
        rows = {row: token for row, token in reversed(found) if token not in own}
        if not rows:
            return
        names = [repr(prepared.of(row, "sample_id"))[:80] for row in sorted(rows)]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        prepared.remarks[f"control tokens of {prepared.place}"] = (
            f"sample{'s' * (len(names) > 1)} {', '.join(names[:_NAMED])}{more}: the prompt holds control tokens, such "
            f"as {rows[min(rows)]!r:.60}, which the model may take for the end of a message; take them out of the "
            "data, or let them pass by --engine-option control_tokens=true"
        )

    def _groups(self, prepared: Prepared) -> Iterator[_Group]:
        """Yield what is to be answered; a sample without a prompt has its problem for each response."""
        for sample, (asked, wanted) in enumerate(zip(prepared.asked, prepared.wanted, strict=True)):
            for place, temperature in enumerate(self.settings.temperatures):
                group = _Group(sample, temperature, place, self.settings.most or wanted, wanted)
                if asked.problem:
                    self._seeded(prepared, group)
                    group.answers = [Answer(None, problem=asked.problem)] * wanted
                    group.more = 0
                yield group

    def _seeded(self, prepared: Prepared, group: _Group) -> tuple[int, ...]:
        """Give a group the seeds of the responses that it gets next, and return them."""
        name, first = prepared.of(group.sample, "sample_id"), len(group.seeds)
        new = [self.settings.seed_of(name, group.temperature, first + number) for number in range(group.more)]
        group.seeds += new
        return tuple(new)

    def _request(self, prepared: Prepared, group: _Group, running: Running) -> Request:
        """Return the request for the responses that a group gets next."""
        asked, prefill = prepared.asked[group.sample], self.prompt.prefill
        if prefill and not getattr(running, "continues", False):
            raise EngineError(
                f"the engine does not continue the beginning of a response, {prefill!r:.200}; name another prompt by "
                "--prompt"
            )
        sampling = replace(self.settings.sampling(group.temperature), stop=self.prompt.stop)
        return Request(asked.messages, asked.seen.files, self._seeded(prepared, group), sampling, prefill)

    def _ask(self, requests: Sequence[Request], prepared: Prepared, running: Running) -> list[Reply]:
        """Return the replies to requests; responses beyond the room of the shard have a problem."""
        place = prepared.place
        try:
            replies = running(requests)
        except GroundingRewardsError:
            raise
        except Exception as error:  # of a third party's engine, or of what it is built on
            raise EngineError(f"{raised(error)}; {place} and after") from error
        whole = checked(replies, [len(request.seeds) for request in requests], place, self.prompt.prefill)
        return [replace(each, answers=tuple(map(prepared.held, each.answers))) for each in whole]

    def _zoom(
        self, prepared: Prepared, pending: Iterable[tuple[_Group, Request]], running: Running, recipe: Recipe
    ) -> None:
        """Ask again on crops about the last answers."""
        new = list[tuple[_Group, int, Zooming]]()
        for group, request in pending:
            asked, sizes = prepared.asked[group.sample], self._sizes(prepared, group)
            if asked.image is None or asked.seen.image_size is None:
                continue
            known = (np.array([each or (np.nan, np.nan)], dtype=np.float64) for each in sizes)
            extent = extents(recipe.response_space, *known)
            for place, seed in enumerate(request.seeds, len(group.answers) - len(request.seeds)):
                alone, answer = replace(request, seeds=(seed,)), group.answers[place]
                each = Zooming(alone, asked.image, asked.seen.image_size, extent, answer, answer.text)
                group.zoomings[place] = each
                new.append((group, place, each))
        cropped = ModelImages(self.data.files, self.resizing or running.resizing).cropped
        ask = partial(self._ask, prepared=prepared, running=running)
        zoom([each for *_, each in new], self.settings.ratios, recipe, cropped, ask, len(prepared.asked))
        for group, place, each in new:
            group.answers[place] = each.answer
            if why := each.why_first(recipe):
                name = prepared.of(group.sample, "sample_id")
                prepared.remarks.setdefault("zoom", f"--zoom: sample {name!r:.80} keeps its answer: {why}")

    def _check(self, prepared: Prepared, group: _Group, reply: Reply, running: Running) -> None:
        """Compare what a model saw of an image with what it was sent; the first of each kind is kept."""
        asked, remarks = prepared.asked[group.sample], prepared.remarks
        computed, saw = asked.seen.model_image_size, reply.image_size
        name = f"sample {prepared.of(group.sample, 'sample_id')!r:.80}"
        if computed and saw and tuple(computed) != tuple(saw):
            remarks.setdefault(
                "size",
                f"{name}: the image was sent as {computed[0]} x {computed[1]} pixels, and the model saw {saw[0]} x "
                f"{saw[1]}, which is recorded; --pipeline and its bounds say how the model resizes",
            )
        stated = prepared.of(group.sample, "image_size")
        if stated and asked.seen.image_size and tuple(stated) != tuple(asked.seen.image_size):
            width, height = asked.seen.image_size
            remarks.setdefault(
                "stated",
                f"{name}: its row says an image of {stated[0]:g} x {stated[1]:g} pixels, and the image is {width} x "
                f"{height}; what the row says counts; --image-size-column names another column, or none",
            )
        length = sum(len(message.text.encode("utf-8", "replace")) for message in asked.messages)
        problem = token_problem(reply.prompt_tokens, asked.seen.sizes, self.resizing or running.resizing, length)
        if problem:
            remarks.setdefault("tokens", f"{name}: {problem}")

    def _go_on(self, prepared: Prepared, groups: Sequence[_Group]) -> None:
        """Have groups go on whose scored responses are all right or all wrong."""
        acc, end = self._rows(prepared, groups).column("acc").to_pylist(), 0
        for group in groups:
            start, end = end, end + len(group.answers)
            right = {value == 1.0 for value in acc[start:end] if value is not None}
            if len(right) == 1 and not prepared.asked[group.sample].problem:
                group.more = min(self.settings.n or 0, group.most - len(group.answers))

    def _rows(self, prepared: Prepared, groups: Sequence[_Group]) -> Any:
        """Return the rows of all answers: by sample, temperature and number."""
        schema, settings = self.data.reader.schema, self.settings
        each = [(group, place) for group in groups for place in range(len(group.answers))]
        answers = [group.answers[place] for group, place in each]
        samples = prepared.samples.take(pa.array([group.sample for group, _ in each], pa.int64()))
        sizes = {id(group): self._sizes(prepared, group) for group in groups}
        zoomings = [group.zoomings.get(place) for group, place in each]
        columns: dict[str, Any] = {
            "round": [settings.round] * len(each) if settings.round is not None else None,
            "rollout": [settings.first_rollout + group.place * group.most + place for group, place in each],
            "response": [answer.text for answer in answers],
            "temperature": [group.temperature for group, _ in each],
            "policy": [settings.policy or self.model] * len(each),
            "token_length": [answer.token_length for answer in answers],
            "image_size": [sizes[id(group)][0] for group, _ in each],
            "model_image_size": [sizes[id(group)][1] for group, _ in each],
            "problem": [answer.problem or None for answer in answers],
            "cut": [None if answer.text is None else answer.cut for answer in answers],
            "seed": [group.seeds[place] for group, place in each],
            IMAGE_HASH: [prepared.asked[group.sample].image_hash for group, _ in each],
            "prompt_tokens": [group.reply and group.reply.prompt_tokens for group, _ in each],
            "first_response": [one.first if one else each.text for one, each in zip(zoomings, answers, strict=True)],
            "zoom_steps": [dumps(one.steps).decode() if one and one.steps else None for one in zoomings],
        }
        arrays = [
            samples.column(one.name)
            if columns.get(one.name) is None or (one.name == IMAGE_HASH and not self.data.hashes)
            else (pa.array if one.type == pa.bool_() else arrow)(columns[one.name], one.type)
            for one in schema
        ]
        return self._scored(pa.RecordBatch.from_arrays(arrays, schema=schema))

    def _sizes(self, prepared: Prepared, group: _Group) -> tuple[Any, Any]:
        """Return the sizes of a group's original image, and of the one that the model saw; None where unknown."""
        stated, recorded = (prepared.of(group.sample, name) for name in ("image_size", "model_image_size"))
        seen = prepared.asked[group.sample].seen
        size = (group.reply and group.reply.image_size) or seen.model_image_size
        saw = [*size] if size else None if seen.sizes else recorded
        return stated or (seen.image_size and [*seen.image_size]), saw

    def _scored(self, rows: Any, bad_target: str = "abstain") -> Any:
        """Score rows as ``pool score`` does; of a row without an image ``resizing`` says the size that is recorded."""
        if self.recipe is None:
            return rows
        recipe = self.recipe if self.resizing is None else replace(self.recipe, resizing=self.resizing)
        return rescored(recipe, rows, f"rollouts of {self.data.table.path}", bad_target=bad_target)

    def _why_unscored(self, rows: Any) -> str:
        """Return why no response could be scored; "" where one could, or there is none."""
        answered = rows.filter(rows.column("response").is_valid())
        if self.recipe is None or not len(answered) or answered.column("acc").null_count < len(answered):
            return ""
        try:
            self._scored(answered, "raise")
        except TableError as error:
            return f"no response of a whole shard could be scored, the first for this: {error}"
        return ""


def _hashed(images: Sequence[Image]) -> str:
    """Return a hash of the images of a row: of one in a file, that of the file."""
    each = [sha256(image.data or (image.path or "").encode("utf-8", "replace")) for image in images]
    whole = each[0] if len(each) == 1 else sha256(b"".join(one.digest() for one in each))
    return f"sha256:{whole.hexdigest()}"


def raised(error: Exception) -> str:
    """Return what an engine raised, and where."""
    places = extract_tb(error.__traceback__)
    where = f" ({places[-1].filename}, line {places[-1].lineno})" if places else ""
    return f"the engine raised {type(error).__name__}: {error}{where}"


def checked(replies: Any, expected: Sequence[int], place: str, prefill: str = "") -> list[Reply]:
    """Check replies, and return them with whole texts; an answer with neither a text nor a problem gets a problem."""
    if problem := next(_problems(replies, expected), ""):
        raise EngineError(f"the engine gave {problem}; {place} and after")
    silent = "the engine gave no text and no reason"
    answers = [
        [
            replace(each, problem=each.problem or silent)
            if each.text is None
            else replace(each, text=each.text if each.text.startswith(prefill) else prefill + each.text)
            for each in reply.answers
        ]
        for reply in replies
    ]
    return [replace(reply, answers=tuple(own)) for reply, own in zip(replies, answers, strict=True)]


def _problems(replies: Any, expected: Sequence[int]) -> Iterator[str]:
    """Yield what does not fit."""
    if not isinstance(replies, list | tuple):
        yield f"{short_repr(replies)}; expected a list of replies"
        return
    for reply in replies:
        if not isinstance(reply, Reply):
            yield f"the reply {short_repr(reply)}; expected a grounding_rewards.engines.Reply"
        elif not isinstance(reply.answers, list | tuple):
            yield f"a reply with answers {short_repr(reply.answers)}; expected a tuple of answers"
    came = [len(reply.answers) for reply in replies]
    if came != [*expected]:
        yield (
            f"{sum(came)} answers in {len(came)} replies; expected {sum(expected)} in {len(expected)}, one reply a "
            "request and one answer a seed"
        )
    for reply in replies:
        for what, value, fits, wanted in _fields(reply):
            if not fits:
                yield f"{what} {short_repr(value)}; expected {wanted}"


def _fields(reply: Reply) -> Iterator[tuple[str, Any, bool, str]]:
    """Yield the fields of a reply: the name, what came, True where it fits, and what was expected."""
    tokens, size, whole = reply.prompt_tokens, reply.image_size, "a whole number from 0, or None"
    sides = isinstance(size, list | tuple) and len(size) == 2 and all(is_whole(side, 1) for side in size)
    yield "a reply with prompt_tokens", tokens, tokens is None or is_whole(tokens, 0), whole
    yield "a reply with image_size", size, size is None or sides, "(width, height) in pixels, or None"
    for answer in reply.answers:
        yield "the answer", answer, isinstance(answer, Answer), "a grounding_rewards.engines.Answer"
        text, length, problem = answer.text, answer.token_length, answer.problem
        yield "an answer with text", text, isinstance(text, str | None), "a text, or None"
        yield "an answer with problem", problem, isinstance(problem, str), "a text"
        both = f"an answer with text {short_repr(text)} and problem"
        yield both, problem, text is None or not problem, "one"
        yield "an answer with token_length", length, length is None or is_whole(length, 0), whole

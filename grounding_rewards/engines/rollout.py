"""From a model to a rollout table: n responses a sample, in whole shards."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from grounding_rewards._version import __version__
from grounding_rewards.batch.rescore import summary
from grounding_rewards.checks.finding import Finding, Severity
from grounding_rewards.cluster import Cluster
from grounding_rewards.coords.register import published_prompts
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines.data import Plan, open_data, plan_of, stretches
from grounding_rewards.engines.prompts import PLAIN, Prompt
from grounding_rewards.engines.protocol import Engine, Running
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.engines.shard import Made, ShardMaker, check_prompts, raised
from grounding_rewards.errors import EngineError, GroundingRewardsError, RecipeError, TableError
from grounding_rewards.plugins.registry import files_named, plugins_named
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.arrow_rows import ParquetTable
from grounding_rewards.tables.interrupting import thread_of
from grounding_rewards.tables.manifests import digest, fingerprint, read_manifest
from grounding_rewards.tables.object_stores import fetched, local
from grounding_rewards.tables.opening import files_of_table, open_table
from grounding_rewards.tables.rows import Note, require_column
from grounding_rewards.tables.runs import Run, open_run
from grounding_rewards.tables.sample_ids import name_of
from grounding_rewards.tables.writing import overlap

MANIFEST = "_rollout.manifest.json"
"""Readers of a directory of Parquet pass over names that begin with an underscore."""

_ITEMS = 64
"""Most stretches of shards that workers get one after the other, of data that are read from their beginning on."""

Count = Callable[[int, int], None]
"""Takes how many samples are done, and how many there are."""

_SETTINGS, _PLAIN = RolloutSettings(), Prompt(PLAIN)


@dataclass(frozen=True)
class RolledOut:
    """Result of ``roll_out``."""

    manifest: Mapping[str, Any] | None  # None while other processes are at work
    made: int  # shards that this call made
    found: int  # shards that were there, or that others have made
    missing: int = 0  # shards that others have yet to make

    @property
    def findings(self) -> list[Finding]:
        """The diagnosis of all rows; none where they are not scored."""
        return [Finding.from_dict(each) for each in (self.manifest or {}).get("findings", ())]


def roll_out(
    data: str | os.PathLike[str],
    engine: Engine,
    out: str | os.PathLike[str],
    *,
    engine_name: str = "",
    settings: RolloutSettings = _SETTINGS,
    prompt: Prompt = _PLAIN,
    recipe: Recipe | None = None,
    resizing: Resizing | None = None,
    allocated: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
    again: bool = False,
    overwrite: bool = False,
    cluster: Cluster | None = None,
    count: Count = lambda done, samples: None,
    note: Note = lambda text: None,
    warn: Note = lambda text: None,
    **reading: Any,
) -> RolledOut:
    """Ask a model for responses to samples, which ``open_data`` reads, into a directory, a rollout table at the end."""
    data, out = local(data), local(out, output=True)
    _check(data, out, settings, recipe, allocated, shard)
    if cluster is not None and shard is not None:
        raise EngineError("shard: got it with a cluster, whose workers make all shards; leave one of them out")
    if again and shard is not None:
        raise EngineError("again: got a shard; expected one process, which asks again for all that have a problem")
    own = open_data(data, recipe=recipe, zoomed=settings.zoom is not None, note=note, warn=warn, **reading)
    for text in _remarks(settings, prompt, recipe):
        note(text)
    maker = ShardMaker(own, settings, engine.model, prompt, recipe, resizing)
    allocated = None if allocated is None else Path(allocated)
    identity = identity_of(maker, engine, allocated, engine_name)
    with open_run(
        out, MANIFEST, identity, command="grounding-rewards rollout", overwrite=overwrite, shared=shard is not None,
        remade=_has_problem if again else None, warn=warn,
    ) as run:  # fmt: skip
        warned = list[str]()
        if run is None:
            done = _complete(out, 0)
        else:
            plan = plan_of(own, settings, None if allocated is None else read_allocated(allocated), warn=warned.append)
            for text in warned:
                warn(text)
            done = _Rollout(maker, engine, run, plan, cluster, count, note, warn).run(shard or (0, 1), warned)
    for text in (done.manifest or {}).get("warnings", ()):
        if text not in warned:
            warn(text)
    for finding in done.findings:
        if finding.severity is Severity.NOTE:
            note(str(finding))
    return done


def _check(data: Path, out: Path, settings: RolloutSettings, recipe: Recipe | None, allocated: Any, shard: Any) -> None:
    if overlap(out, data):
        raise TableError(f"{out}: lies in the input {data}, or holds it; write to another directory")
    if recipe is not None and "trajectories" in recipe.needs:
        raise RecipeError(
            f"{recipe.name} adds up a trajectory, and rollouts of a pool do not say which steps are of one attempt; "
            "roll out without a recipe, and score whole attempts with `grounding-rewards score`"
        )
    if settings.most is not None and recipe is None:
        raise EngineError("until mixed: needs a recipe, which says what is right")
    if settings.most is not None and recipe is not None and recipe.label_free:
        raise EngineError(f"until mixed: {recipe.name} scores without labels, so that no response is right or wrong")
    if settings.zoom and (recipe is None or recipe.reads_itself):
        raise EngineError("--zoom: needs a recipe that reads the places of answers, such as --recipe click")
    if (settings.n is None) != (allocated is not None):
        raise EngineError("n: expected either a number of responses to each sample, or a file that allocates them")
    if shard is not None and not 0 <= shard[0] < shard[1]:
        raise EngineError(f"shard: got {shard[0]}/{shard[1]}; expected i/n with i from 0 to n - 1, such as 0/8")


def _remarks(settings: RolloutSettings, prompt: Prompt, recipe: Recipe | None) -> Iterator[str]:
    """Yield what settings say that is rarely meant."""
    if 0 in settings.temperatures and (settings.n or 0) > 1:
        yield f"temperature 0 is greedy: the {settings.n} responses to a sample at it are alike"
    published = published_prompts().get(prompt.name)
    if recipe is not None and published is not None and published.space != recipe.response_space:
        yield (
            f"prompt {prompt.name} asks for answers in {published.space}, and {recipe.name} reads them in "
            f"{recipe.response_space}; --response-space names the space of the answers"
        )


def read_allocated(path: Path) -> dict[str, int]:
    """Read the responses that samples get, by name: columns ``sample_id`` and ``n``, as ``pool allocate`` writes."""
    table, allocated = open_table(path), dict[str, int]()
    for column in ("sample_id", "n"):
        require_column(table, column, "--allocate")
    for batch in table.batches(["sample_id", "n"], whole=False):
        for row, (name, number) in enumerate(zip(batch.column("sample_id"), batch.numbers("n"), strict=True)):
            text = name_of(name)
            if text is None or text in allocated:
                why = "which is there already" if text in allocated else "expected the name of a sample"
                raise TableError(f"{path}, {batch.place(row)}: sample_id: got {name!r:.80}; {why}")
            if isinstance(number, float) and number.is_integer():  # as files hold 2 beside nulls
                number = int(number)
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
                raise TableError(f"{path}, {batch.place(row)}: n: got {number!r:.60}; expected a whole number from 0")
            allocated[text] = number
    if not any(allocated.values()):
        raise TableError(f"{path}: n: all {len(allocated)} samples have 0, so that there is nothing to ask for")
    return allocated


@dataclass(frozen=True, eq=False)
class _Rollout:
    """One process's part in a run."""

    maker: ShardMaker
    engine: Engine
    shards: Run
    plan: Plan
    cluster: Cluster | None
    count: Count
    note: Note
    warn: Note

    def run(self, shard: tuple[int, int], warned: Sequence[str]) -> RolledOut:
        names = self.plan.names
        mine = [number for number in range(len(names)) if number % shard[1] == shard[0]]
        if not mine:
            several = f"{len(names)} shards" if len(names) != 1 else "1 shard"
            self.note(
                f"shard {shard[0]}/{shard[1]}: the run has {several}, so that this process makes none; a smaller "
                "--shard-rows makes more of them"
            )
        wanted = [number for number in mine if names[number] not in self.shards]
        samples = sum(map(self.plan.of, mine))
        done = samples - sum(map(self.plan.of, wanted))
        self.count(done, samples)
        made = 0
        try:
            begins = partial(self.count, done, samples)
            shards = self._made(wanted, begins) if self.cluster is None else self._spread(wanted, self.cluster)
            for number, shard_made in shards:
                self._write(names[number], shard_made)
                made, done = made + 1, done + self.plan.of(number)
                self.count(done, samples)
            return self._finished(names, made, warned)
        except EngineError as error:
            if not (there := len(mine) - len(wanted) + made):
                raise
            raise EngineError(
                f"{error}; {there} of {len(mine)} shards are there, and the same command goes on with the others"
            ) from error
        except FileNotFoundError:  # another process has made the same shards, and finished the run meanwhile
            if not self.shards.is_finished():
                raise
            return _complete(self.shards.out, made)

    def _made(self, wanted: Collection[int], begins: Callable[[], None]) -> Iterator[tuple[int, Made]]:
        """Yield shards as they are made; while one is answered, the prompts of the next are made."""
        if not wanted:
            return
        with ExitStack() as stack:
            running = _started(stack, self.engine)
            begins()  # loading a model takes minutes, which say nothing of those to come
            if text := self.maker.unknown_resizing(running):
                self.note(text)
            flying = dict[Future[Made], int]()
            seen = set[str]()
            new = not any(name in self.shards for name in self.plan.names)
            for stretch in stretches(self.maker.data.table, self.plan, frozenset(wanted)):
                prepared = self.maker.prepared(stretch, running.resizing)
                if new:
                    check_prompts(prepared)
                    new = False
                if len(flying) >= running.at_once:
                    yield from self._landed(flying, seen)
                future = Future[Made]()
                thread_of(future, self.maker.answered, prepared, running).start()
                flying[future] = stretch.number
            while flying:
                yield from self._landed(flying, seen)

    def _spread(self, wanted: Sequence[int], cluster: Cluster) -> Iterator[tuple[int, Made]]:
        """Yield shards as workers make them."""
        data, seen = self.maker.data, set[str]()
        new = not any(name in self.shards for name in self.plan.names)
        # Other tables than Parquet are read from the start.
        size = 1 if isinstance(data.table, ParquetTable) else -(-len(wanted) // _ITEMS)
        items = [wanted[start : start + size] for start in range(0, len(wanted), size)]
        images = [Path(data.files.root)] if data.image else []
        places = [*files_of_table(data.table), Path(self.engine.model), *images]
        work = _Answering(self.maker, self.engine, self.plan, wanted[0] if new and wanted else -1)
        inputs = [place for place in places if place.exists()]
        gpus = getattr(self.engine, "gpus", 0)
        for number, made in cluster.map(work.apart(), items, inputs, held=True, gpus=gpus, note=self.note):
            self._warn(made, seen)
            yield number, made

    def _warn(self, made: Made, seen: set[str]) -> None:
        """Warn of what looks wrong, once of each kind."""
        for kind, text in made.remarks.items():
            if kind not in seen:
                self.warn(text)
        seen.update(made.remarks)

    def _landed(self, flying: dict[Future[Made], int], seen: set[str]) -> Iterator[tuple[int, Made]]:
        """Wait for one shard at least, and yield those that are made."""
        done = wait(flying, return_when=FIRST_COMPLETED).done
        for future in sorted(done, key=lambda each: each.exception() is not None):  # those that are made are kept
            number, made = flying.pop(future), future.result()
            self._warn(made, seen)
            yield number, made

    def _write(self, name: str, made: Made) -> None:
        with self.shards.write(name) as file:
            pq.write_table(pa.Table.from_batches([made.rows]), file, compression="zstd")
            # Before the shard has its name: rows of data that have changed are not kept.
            self.maker.data.reader.source.check()

    def _finished(self, names: Sequence[str], made: int, warned: Sequence[str]) -> RolledOut:
        """Finish the run if all shards are there."""
        missing = sum(name not in self.shards for name in names)
        if missing:
            if self.shards.is_finished():
                return _complete(self.shards.out, made)
            return RolledOut(None, made, len(names) - missing - made, missing)
        manifest = self.shards.finish(names, facts_of(self.shards.folder, names, self.maker, self.plan.samples, warned))
        return RolledOut(manifest, made, len(names) - made)


def _started(stack: ExitStack, engine: Engine) -> Running:
    try:
        return stack.enter_context(engine.start())
    except GroundingRewardsError:
        raise
    except Exception as error:  # of a third party's engine
        raise EngineError(raised(error)) from error


@dataclass(frozen=True, eq=False)
class _Answering:
    """A worker's part in a run: it loads the model once, and makes shards by their numbers."""

    maker: ShardMaker
    engine: Engine
    plan: Plan
    first: int  # the shard of which some prompt must be made; -1 for none
    notes: list[str] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)  # the one that was started; a process keeps it to its end
    stack: ExitStack = field(default_factory=ExitStack)

    def apart(self) -> _Answering:
        """Return the same for workers, whose notes come with the shards."""
        data = self.maker.data
        noting = replace(data, reader=data.reader.noting(self.notes.append))
        return replace(self, maker=replace(self.maker, data=noting))

    def __call__(self, numbers: Sequence[int]) -> Iterator[tuple[int, Made]]:
        """Yield the number of each shard, and what it holds."""
        for path in (self.maker.data.table.path, Path(self.maker.data.files.root)):
            fetched(path)
        self.maker.data.reader.source.check()
        if not self.running:
            self.running.append(_started(self.stack, self.engine))
            self.notes.extend(filter(None, [self.maker.unknown_resizing(self.running[0])]))
        for stretch in stretches(self.maker.data.table, self.plan, frozenset(numbers)):
            prepared = self.maker.prepared(stretch, self.running[0].resizing)
            if stretch.number == self.first:
                check_prompts(prepared)
            yield stretch.number, self.maker.answered(prepared, self.running[0])


def _has_problem(shard: Path) -> bool:
    problems = pq.read_table(shard, columns=["problem"]).column("problem")
    return bool(problems.null_count < len(problems))


def _complete(out: Path, made: int) -> RolledOut:
    manifest = read_manifest(out / MANIFEST)
    return RolledOut(manifest, made, len(manifest["outputs"]) - made)


_READ = ["sample_id", "temperature", "response", "acc", "problem", "cut", "token_length"]
_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d.,]*")
"""Parts of a problem that are the row's own: what is quoted, and numbers."""

_PIECE, _PIECES = 1 << 16, 256
"""Bytes of a piece of a checkpoint's file, and pieces of a file that are read."""

_PACKAGE = Path(__file__).absolute().parents[1]

_ALIKE = 8
"""Samples whose responses are all alike, from which the engine may be greedy."""

_LISTED, _SHOWN = 20, 5
"""Kinds of problems in the manifest, and among its warnings."""


def identity_of(maker: ShardMaker, engine: Engine, allocated: Path | None, engine_name: str = "") -> dict[str, Any]:
    """Return the identity of a run, which goes on only if that is unchanged."""
    config = None if maker.recipe is None else maker.recipe.to_dict()
    terms = {"name": engine_name, "selectors": [config or {}]}  # whatever names code
    files = dict.fromkeys([*(file.absolute() for file in files_named(terms)), *_file_of(engine)])
    own = asdict(maker.settings)
    own["max"] = own.pop("most")
    if own["zoom"] is None:  # as runs before it had no such setting
        del own["zoom"]
    return {
        "version": __version__,
        "engine": {"name": type(engine).__name__, **_arguments(engine)},
        "checkpoint": checkpoint_of(engine.model),
        "prompt": {
            "template": maker.prompt.template,
            "system": maker.prompt.system,
            **({"prefill": maker.prompt.prefill} if maker.prompt.prefill else {}),
            **({"stop": [*maker.prompt.stop]} if maker.prompt.stop else {}),
        },
        **own,
        "policy": maker.settings.policy or engine.model,
        "allocated": [fingerprint(allocated, [allocated])] if allocated else None,
        "resizing": None if maker.resizing is None else asdict(maker.resizing),
        "recipe": config,
        "code": [{"path": str(file), "sha256": digest(file)} for file in files],
        "plugins": plugins_named(terms),
        **maker.data.identity(),
    }


def _file_of(engine: Engine) -> list[Path]:
    """Return the file of an engine's class; none for one of this package, whose version is known."""
    place = getattr(sys.modules.get(type(engine).__module__), "__file__", None)
    file = None if place is None else Path(place).absolute()
    own = file is None or _PACKAGE in file.parents or not file.is_file()
    return [] if own or file is None else [file]


def _arguments(engine: Engine) -> dict[str, Any]:
    """Return the arguments of an engine that its answers depend on: those by which it is compared."""
    known = fields(engine) if hasattr(engine, "__dataclass_fields__") else ()  # type: ignore[arg-type]
    values = {each.name: getattr(engine, each.name) for each in known if each.compare} or {"model": engine.model}
    plain: dict[str, Any] = json.loads(json.dumps(values, default=str))
    return plain


def checkpoint_of(model: str) -> str | None:
    """Return a hash of the files in a checkpoint's folder; None where the model is a name."""
    folder, known = Path(model), sha256()
    if not folder.is_dir():
        return None
    for path in sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith(".")):
        size = path.stat().st_size
        known.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:  # pieces of large files, spread evenly: training changes all weights
            for place in range(0, size, max(_PIECE, size // _PIECES)):
                file.seek(place)
                known.update(file.read(_PIECE))
    return known.hexdigest()


def facts_of(
    folder: Path, names: Sequence[str], maker: ShardMaker, samples: int, warned: Sequence[str]
) -> dict[str, Any]:
    """Return figures of all rows, read from the shards: the same however many runs made them."""
    answered = cut = tokens = known = several = alike = 0
    reasons, examples = Counter[str](), dict[str, Mapping[str, Any]]()
    scores, warm = list[Any](), set[float]()
    for name in names:
        with (folder / name).open("rb") as opened, pq.ParquetFile(opened) as file:
            read = file.read(_READ)
        scores.append(read.select(["temperature", "acc"]))
        answered += len(read) - read.column("response").null_count
        cut += int(np.count_nonzero(read.column("cut").fill_null(False).to_numpy()))
        lengths = read.column("token_length").drop_null().to_numpy()
        tokens, known = tokens + int(lengths.sum()), known + len(lengths)
        drawn = read.filter(pc.and_(pc.greater(read.column("temperature"), 0), read.column("response").is_valid()))
        warm.update(drawn.column("temperature").unique().to_pylist())
        grouped = drawn.group_by("sample_id").aggregate([("response", "count"), ("response", "count_distinct")])
        counts = grouped.to_pylist()
        several += sum(each["response_count"] > 1 for each in counts)
        alike += sum(each["response_count"] > each["response_count_distinct"] == 1 for each in counts)
        for each in read.filter(read.column("problem").is_valid()).to_pylist():
            kind = _OWN.sub("...", each["problem"])
            reasons[kind] += 1
            examples.setdefault(kind, {"sample_id": each["sample_id"], "problem": each["problem"]})
    problems = [{"rows": count, **examples[kind]} for kind, count in reasons.most_common(_LISTED)]
    recipe, scorer, warnings = maker.recipe, maker.data.reader.scorer, [*warned, *map(_text, problems[:_SHOWN])]
    scored = {} if recipe is None else summary(folder, names, recipe, box_format=scorer.box_format)
    if several == alike >= _ALIKE:
        where = f"temperature{'s' * (len(warm) > 1)} {', '.join(map(str, sorted(warm)))}"
        warnings.append(
            f"all responses to each of {several:,} samples are alike at {where}; the engine or its server may be "
            "greedy: see docs/rollouts.md"
        )
    return {
        "samples": samples,
        "rows": sum(map(len, scores)), "answered": answered, "problems": problems,
        "further_problems": len(reasons) - len(problems),
        "cut": cut, "mean_token_length": tokens / known if known else None, **scored,
        **_by_temperature(pa.concat_tables(scores)), "warnings": [*warnings, *scored.get("warnings", ())],
    }  # fmt: skip


def _by_temperature(scores: Any) -> dict[str, Any]:
    """Return the figures of each temperature, where there are several."""
    each = []
    for temperature in sorted(scores.column("temperature").unique().to_pylist()):
        acc = scores.filter(pc.equal(scores.column("temperature"), temperature)).column("acc")
        known = acc.drop_null().to_numpy()
        hit_rate = int(np.count_nonzero(known == 1.0)) / len(known) if len(known) else None
        each.append({"temperature": temperature, "rows": len(acc), "scored": len(known), "hit_rate": hit_rate})
    return {"by_temperature": each} if len(each) > 1 else {}


def _text(problem: Mapping[str, Any]) -> str:
    rows, sample = problem["rows"], f"sample {problem['sample_id']!r:.80}"
    which = f"{rows:,} rollouts have no response, the first is of {sample}" if rows > 1 else f"no response to {sample}"
    return f"{which}: {problem['problem']}"

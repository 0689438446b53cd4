"""The pages in docs/ are true: every block runs, in the order of its page, and gives what is shown."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.checks.finding import Code
from grounding_rewards.cli import main
from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.parsing import PatternDialect
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import collect
from grounding_rewards.recipes.published.gelato import gelato

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXTENDING = DOCS / "extending.md"
PLUGIN = ROOT / "examples" / "plugin"
INSTALLED = ("grounding-rewards plugins",)
"""Commands that test_plugin_distribution.py runs where the plugin is installed."""

PAGES = sorted(page for page in DOCS.rglob("*.md") if "\n```" in page.read_text("utf-8"))


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of every block."""
    fences = re.finditer(r"^(`{3,})(\w*)\n(.*?)^\1$", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [(fence[2], fence[3]) for fence in fences]


def commands(block: str) -> list[tuple[str, str]]:
    """Every command of a console block, and what is shown below it."""
    parts = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, output) for command, _, output in parts]


def tidy(text: str) -> list[str]:
    """Lines with words, without the blanks at their ends; rules are as long as what stands below, such as a time."""
    return [re.sub("─+", "─", line.rstrip()) for line in text.splitlines() if line.strip()]


class Reader:
    """Somebody who types what a page shows, in one folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.names = folder, capsys, dict[str, Any]()

    def python(self, block: str) -> None:
        file = re.match(r"# (\w+\.py)\n", block)
        if file:
            (self.folder / file[1]).write_text(block)
        else:
            exec(compile(block, "block", "exec"), self.names)

    def pycon(self, block: str) -> None:
        example = doctest.DocTestParser().get_doctest(block, self.names, "page", "page", 0)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        said: list[str] = []
        runner.run(example, out=said.append, clear_globs=False)
        self.names = example.globs
        assert runner.failures == 0, "".join(said)

    def console(self, block: str) -> None:
        for command, shown in commands(block):
            if command.startswith("cat "):
                (self.folder / command.removeprefix("cat ")).write_text(shown)
            elif command not in INSTALLED:
                program, *words = shlex.split(command)
                assert program == "grounding-rewards"
                with pytest.raises(SystemExit) as ended:
                    main(words)
                captured = self.capsys.readouterr()
                printed = captured.out + captured.err
                expected = (".*" if line == "..." else re.escape(line) for line in tidy(shown))
                assert ended.value.code == 0, printed
                assert re.fullmatch("\n".join(expected), "\n".join(tidy(printed)), re.DOTALL), printed

    def text(self, block: str) -> None:
        """Nothing to run."""

    math = text

    def toml(self, block: str) -> None:
        shown, whole = tomllib.loads(block), tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))
        if "project" not in shown:  # settings
            (self.folder / "model.toml").write_text(block)
            built = gr.read_settings("model.toml").build()
            space = shown["data"]["target_space"]
            assert built.to_dict() == shown["recipe"] | {"target_space": space}  # whose own space the answers have
            assert built.response_space == shown["answers"]["response_space"]
            return
        assert shown["project"].items() <= whole["project"].items()


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Reader]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(PLUGIN), *sys.path])
    before = set(sys.modules)
    yield Reader(tmp_path, capsys)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith((str(tmp_path), str(PLUGIN))):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_block_gives_what_it_shows(page: Path, reader: Reader) -> None:
    found = blocks(page)
    assert found
    for language, block in found:
        getattr(reader, language)(block)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
        name, _, place = link.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), link
        assert not place or place in places(file), link


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "adapters" / "README.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda page: page.stem,
)
def test_rows_of_a_table_have_the_cells_of_its_head(page: Path) -> None:
    for table in re.findall(r"^(?: *\|.*\n)+", page.read_text("utf-8"), flags=re.MULTILINE):
        rows = [re.split(r"(?<!\\)\|", line) for line in table.splitlines()]
        assert [row for row in rows if len(row) != len(rows[0])] == []


def places(page: Path) -> set[str]:
    """The names by which links find a page's titles."""
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_contributing_names_what_there_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    places = {name: ROOT / name for name in re.findall(r"`([\w.]+/[\w/.]*)`", text)}
    places |= {name: next(ROOT.glob(f"*/**/{name}"), path) for name, path in places.items() if not path.exists()}
    assert [name for name, path in places.items() if not path.exists()] == []
    examples = re.findall(r"`(\w+)` in `(\w+/[\w/.]*)`", text)
    assert len(examples) > 3
    for name, place in examples:
        files = [*places[place].rglob("*.py"), *([places[place]] if places[place].is_file() else [])]
        assert any(name in file.read_text("utf-8") for file in files), (name, place)


def offer(plugin: Any, name: str = "touch", distribution: str = "grounding-rewards-touch") -> tuple[str, str, Any]:
    return name, distribution, plugin


def hooks(**found: Callable[[Any], None]) -> SimpleNamespace:
    return SimpleNamespace(**{name: hookimpl(hook) for name, hook in found.items()})


class EdgeMargin:
    low, high, needs = 0.0, 1.0, frozenset[str]()

    def __call__(self, rollouts: Any) -> Any:
        raise KeyError("xy")


def no_number(text: str) -> Any:
    raise ValueError("no number")


def broken() -> None:
    raise ImportError("no module")


def errors(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the real error texts, in the order of the page's table."""

    def said(run: Callable[[], object]) -> str:
        with pytest.raises(gr.GroundingRewardsError) as caught:
            run()
        return str(caught.value)

    def twice(register: Any) -> None:
        register("tap", gelato)
        register("tap", gelato)

    dialect = PatternDialect("tap_tag", read=no_number)
    point = SimpleNamespace(name="touch", dist=SimpleNamespace(name="grounding-rewards-touch"), load=broken)
    good = hooks(
        register_verifiers=lambda register: register("edge_margin", EdgeMargin),
        register_parsers=lambda register: register("tap_tag", dialect),
    )
    yield said(lambda: plugins.loaded(point))  # type: ignore[arg-type]
    yield said(lambda: collect([offer(hooks(register_verifier=lambda register: None))]))
    yield said(lambda: collect([offer(hooks(register_recipes=lambda register: {"tap": gelato}))]))
    yield said(lambda: collect([offer(hooks(register_recipes=lambda register: gr.recipe("gelato")))]))
    yield said(lambda: collect([offer(SimpleNamespace(register_recipes=lambda register: None))]))
    yield said(lambda: collect([offer(hooks(register_recipes=lambda register, more: None))]))  # type: ignore[misc]
    yield said(lambda: collect([offer(hooks(register_recipes=twice))]))
    yield said(lambda: collect([offer(good), offer(hooks(register_recipes=twice), distribution="other-rewards")]))
    yield said(lambda: collect([offer(hooks(register_verifiers=lambda register: register("edge_margin", "hit")))]))
    known = collect([offer(good)])
    monkeypatch.setattr(plugins, "_registry", lambda: known)
    gelato_recipe = gr.recipe("gelato")
    margin = replace(gelato_recipe, reward=gr.weighted(margin=(1.0, EdgeMargin())))
    yield said(lambda: margin.score("(1, 2)", [0, 0, 1, 1]))
    yield said(lambda: replace(gelato_recipe, dialect=dialect).score("(1, 2)", [0, 0, 1, 1]))


def test_errors_of_plugins_are_those_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table = re.findall(
        r"^\| .* \| `([^`]*(?:plugin|touch)[^`]*)` \|$", EXTENDING.read_text("utf-8"), flags=re.MULTILINE
    )
    real = list(errors(monkeypatch))
    assert len(table) == len(real) == 11
    for shown, said in zip(table, real, strict=True):
        pattern = ".*".join(map(re.escape, shown.split("...")))
        assert re.match(pattern, " ".join(said.split())), (shown, said)


def test_the_plugins_hooks_on_the_page_are_those_of_the_example() -> None:
    (block,) = [text for language, text in blocks(EXTENDING) if language == "python" and "@hookimpl" in text]
    whole = (PLUGIN / "grounding_rewards_touch" / "plugin.py").read_text("utf-8")
    for line in block.splitlines():
        assert line.replace("(register):", "(register: Register) -> None:") in whole or "hookspecs" in line


def test_every_code_of_a_finding_is_explained() -> None:
    pages = "".join((DOCS / name).read_text("utf-8") for name in ("files.md", "checks.md"))
    assert [str(code) for code in Code if f"`{code}`" not in pages] == []

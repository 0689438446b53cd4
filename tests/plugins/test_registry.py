"""Plugins: names, duplicates, failures, and the environment variable that chooses among them."""

import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

import grounding_rewards as gr
from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.parsing import BARE_TUPLE
from grounding_rewards.plugins.registry import KINDS, collect
from grounding_rewards.pool import Band
from grounding_rewards.recipes.published.gelato import gelato
from grounding_rewards.verifiers import Hit


class Plugin:
    """Offers one thing of each kind."""

    @hookimpl
    def register_parsers(self, register):
        register("mine", BARE_TUPLE)

    @hookimpl
    def register_verifiers(self, register):
        register("hit", Hit)

    @hookimpl
    def register_recipes(self, register):
        register("mine", gelato)


def offering(**hooks):
    """A plugin made of plain functions."""
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def test_built_ins_are_there_without_a_plugin():
    registry = collect([])
    for kind in KINDS:
        assert all(callable(getattr(thing, "one", thing)) for thing in getattr(registry, kind).values())
    assert [dialect.name for dialect in registry.parsers.values()] == list(registry.parsers)
    assert tuple(registry.recipes) == gr.list_recipes()


def test_a_built_in_one_is_imported_when_it_is_asked_for(tmp_path):
    code = """
        import sys
        names = gr.list_recipes()
        room = "grounding_rewards.recipes"
        print([each for each in sys.modules if each.startswith(room)])
        gr.recipe("gelato")
        print([each for each in sys.modules if each.startswith(f"{room}.published.")])
    """
    assert run(tmp_path, code).splitlines() == ["[]", "['grounding_rewards.recipes.published.gelato']"]


def test_a_plugins_names_stand_after_its_own():
    registry = collect([("acme", "acme-rewards", Plugin())])
    assert registry.parsers["acme/mine"] is BARE_TUPLE
    assert registry.verifiers["acme/hit"] is Hit
    assert registry.recipes["acme/mine"] is gelato
    assert registry.verifiers["hit"] is Hit
    assert "mine" not in registry.recipes


def test_a_plugin_may_offer_one_kind_only():
    registry = collect([("acme", "acme-rewards", offering(register_recipes=lambda register: register("one", gelato)))])
    assert set(registry.recipes) - set(collect([]).recipes) == {"acme/one"}
    assert registry.parsers == collect([]).parsers


def test_the_registry_cannot_be_changed():
    with pytest.raises(TypeError):
        collect([]).recipes["mine"] = gelato


def test_two_plugins_may_use_one_name_each_under_its_own():
    registry = collect([("a", "dist-a", Plugin()), ("b", "dist-b", Plugin())])
    assert {"a/mine", "b/mine"} <= set(registry.recipes)


@pytest.mark.parametrize(
    ("kind", "thing"), [("parsers", BARE_TUPLE), ("verifiers", Hit), ("recipes", gelato), ("methods", Band)]
)
def test_a_name_offered_twice_is_an_error_that_names_kind_name_and_distribution(kind, thing):
    def twice(register):
        register("same", thing)
        register("same", thing)

    with pytest.raises(gr.PluginError, match=f"^{kind[:-1]} 'acme/same' is offered twice by acme-rewards; rename one"):
        collect([("acme", "acme-rewards", offering(**{f"register_{kind}": twice}))])


def test_two_distributions_under_one_plugin_name_are_an_error_that_names_both():
    with pytest.raises(gr.PluginError, match="plugin 'acme' is offered by both acme-rewards and other-rewards"):
        collect([("acme", "acme-rewards", Plugin()), ("acme", "other-rewards", Plugin())])
    with pytest.raises(gr.PluginError, match="offered by both grounding-rewards and thief"):
        collect([("grounding-rewards", "thief", Plugin())])
    with pytest.raises(gr.PluginError, match="plugin 'acme' is offered twice by acme-rewards; uninstall one"):
        collect([("acme", "acme-rewards", Plugin()), ("acme", "acme-rewards", Plugin())])


def test_the_same_module_twice_is_an_error():
    plugin = Plugin()
    with pytest.raises(gr.PluginError, match="'b' of dist-b is not valid"):
        collect([("a", "dist-a", plugin), ("b", "dist-b", plugin)])


GOOD = """
from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.recipes.published.gelato import gelato

def build(*, sharpness: float = 1.0):
    return gelato(format_weight=0.5)

@hookimpl
def register_recipes(register):
    register("sharp", build)
    register("wrong", lambda: 5)
"""


def install(folder, name, distribution, source):
    """Write the files that pip would: a module, and metadata with an entry point."""
    (folder / f"{name}_plugin.py").write_text(source)
    metadata = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[grounding_rewards]\n{name} = {name}_plugin\n")


def run(folder, code, plugins=None):
    environment = {key: value for key, value in os.environ.items() if key != "GROUNDING_REWARDS_PLUGINS"}
    environment["PYTHONPATH"] = str(folder)
    if plugins is not None:
        environment["GROUNDING_REWARDS_PLUGINS"] = plugins
    code = "import grounding_rewards as gr\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


@pytest.fixture
def installed(tmp_path):
    install(tmp_path, "acme", "acme-rewards", GOOD)
    install(tmp_path, "broken", "broken-rewards", "import there_is_no_such_module\n")
    return tmp_path


def test_an_installed_plugin_is_built_by_its_name(installed):
    code = """
        built = gr.recipe("acme/sharp", sharpness=2.0, answers="last")
        scores = built.score("(200, 150)", [0, 0, 1, 1])
        print(built.name, built.to_dict(), gr.recipe(built.to_dict()) == built, scores.acc)
        for name, options in (("acme/sharp", {"sharpnes": 1}), ("acme/wrong", {}), ("acme/shrap", {})):
            try:
                gr.recipe(name, **options)
            except gr.RecipeError as error:
                print(error)
    """
    first, option, wrong, near = run(installed, code, plugins="acme").splitlines()
    assert first == (
        "acme/sharp {'name': 'acme/sharp', 'answers': 'last', 'sharpness': 2.0} True [1.]"
    )  # fmt: skip
    assert option.startswith("acme/sharp: unknown option 'sharpnes'; did you mean 'sharpness'?")
    assert wrong == "acme/wrong (plugin 'acme' of acme-rewards): its plugin returned int; expected a Recipe"
    assert near.startswith("unknown recipe 'acme/shrap'; did you mean 'acme/sharp'?")


@pytest.mark.slow
def test_all_plugins_load_unless_some_are_chosen_and_a_broken_one_is_named(installed):
    names = "print(gr.list_recipes())"
    built_in = repr(tuple(collect([]).recipes))
    broken = (
        "grounding_rewards.errors.PluginError: plugin 'broken' of broken-rewards does not load "
        "(ModuleNotFoundError: No module named 'there_is_no_such_module'); "
        "fix or uninstall it, or leave it out of GROUNDING_REWARDS_PLUGINS"
    )
    assert run(installed, names) == broken
    assert run(installed, names, plugins="acme, broken") == broken
    assert run(installed, names, plugins=" acme ,") == f"('acme/sharp', 'acme/wrong', {built_in[1:]}"
    assert run(installed, names, plugins="") == built_in


def test_a_chosen_plugin_that_is_not_installed_is_an_error(installed):
    # A typo here would otherwise switch off the plugin that was meant.
    error = run(installed, "gr.list_recipes()", plugins="amce")
    assert "plugin 'amce', named in GROUNDING_REWARDS_PLUGINS, is not installed; there are: ['acme', 'broken']" in error


@pytest.mark.slow
def test_an_unknown_name_of_a_plugin_that_is_left_out_says_so(installed):
    hint = "; plugin 'acme' is installed, but GROUNDING_REWARDS_PLUGINS leaves it out."
    part = "gr.recipe('composite', response_space='pixel', parts={'a': {'verifier': 'acme/x', 'weight': 1}})"
    for code in ("gr.recipe('acme/sharp')", part, "gr.recipe('click', response_space='pixel', dialect='acme/x')"):
        assert hint in run(installed, code, plugins=""), code
    assert "did you mean 'gelato'?" in run(installed, "gr.recipe('gelatto')", plugins="")


EARLY = "import grounding_rewards as gr\nBASE = gr.recipe('gelato')\n" + GOOD
ON_HOOK = GOOD.replace('    register("sharp", build)', '    import grounding_rewards as gr; gr.recipe("gelato")')


@pytest.mark.parametrize(
    ("source", "code", "start"),
    [
        (EARLY, "", "'early' of early-rewards does not load (RecipeError: it builds a recipe while plugins load"),
        (ON_HOOK, "", "'early' of early-rewards fails in register_recipes (RecipeError: it builds a recipe while plug"),
        (EARLY, "import early_plugin", "'early' of early-rewards builds a recipe while it is imported"),
    ],
)
def test_a_plugin_that_builds_a_recipe_while_it_loads_is_named(tmp_path, source, code, start):
    install(tmp_path, "early", "early-rewards", source)
    said = run(tmp_path, f"{code}\ngr.recipe('gelato')")
    assert f"PluginError: plugin {start}" in said
    assert "do that inside a function that it registers" in said


def test_hooks_run_when_a_recipe_is_built_not_on_import_nor_while_scoring(installed):
    install(installed, "loud", "loud-rewards", GOOD.replace("@hookimpl", "print('loaded')\n@hookimpl"))
    code = """
        print("imported")
        built = gr.recipe("loud/sharp")
        print("built")
        built.score(["(1, 1)"], [[0, 0, 1, 1]])
        gr.recipe("gelato")
    """
    assert run(installed, code, plugins="loud").split() == ["imported", "loaded", "built"]

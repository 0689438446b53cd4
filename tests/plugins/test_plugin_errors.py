"""Whatever a plugin does wrong, the error names the plugin, its distribution and the thing at fault."""

import pickle
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards.errors import DialectError, SelectorError
from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.parsing import BARE_TUPLE, PatternDialect
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import collect, origin
from grounding_rewards.pool import Band, sample_stats, select, selector
from grounding_rewards.verifiers import DastLength, Hit

ACME = r" \(plugin 'acme' of acme-rewards\)"
BOX = {"bbox": [0, 0, 10, 10]}


def offering(**hooks):
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def collected(kind, name, thing, plugin="acme"):
    return collect([(plugin, "acme-rewards", offering(**{f"register_{kind}": lambda register: register(name, thing)}))])


@dataclass(frozen=True)
class Uncalled:
    low: float = 0.0


@pytest.mark.parametrize(
    ("kind", "thing", "message"),
    [
        ("parsers", Hit(), "parser 'acme/mine': got Hit.*; expected a dialect with name, names and one"),
        (
            "parsers",
            PatternDialect,
            "parser 'acme/mine': got <class.*; expected a dialect with name, names and one, such as a PatternDialect",
        ),
        ("verifiers", "hit", "verifier 'acme/mine': got 'hit'; expected a class of verifiers"),
        (
            "verifiers",
            Uncalled,
            "verifier 'acme/mine': got <class .*Uncalled'>; expected a class of verifiers, a frozen",
        ),
        ("recipes", {"name": "gelato"}, "recipe 'acme/mine': got {'name': 'gelato'}; expected a function of keyword"),
        ("methods", None, "method 'acme/mine': got None; expected a class of methods"),
        ("methods", Uncalled(), "method 'acme/mine': got Uncalled"),
    ],
)
def test_a_thing_of_the_wrong_kind_is_named_with_what_was_expected(kind, thing, message):
    with pytest.raises(gr.PluginError, match=f"^plugin 'acme' of acme-rewards: {message}"):
        collected(kind, "mine", thing)


@pytest.mark.parametrize("name", ["", "my hit", "other/hit", "a:b", "a,b", "tab\there", None, 5, "new\nline"])
def test_a_name_that_no_config_could_use_is_an_error(name):
    with pytest.raises(gr.PluginError, match=r"'acme' of acme-rewards: verifier .*: a name is a text without spaces"):
        collected("verifiers", name, Hit)
    if isinstance(name, str) and name:
        with pytest.raises(
            gr.PluginError, match=r"of acme-rewards: a name is a text without .*; rename its entry point"
        ):
            collected("verifiers", "mine", Hit, plugin=name)


def raises(error):
    def hook(register):
        raise error

    return hook


def returns_a_dict(register):
    return {"hit": Hit}


def yields(register):
    yield register("hit", Hit)


async def waits(register):
    register("hit", Hit)


def beside_a_good_one(name):
    plugin = offering(register_verifiers=lambda register: register("hit", Hit))
    setattr(plugin, name, lambda register: None)
    return plugin


def marked(hook, **mark):
    return SimpleNamespace(register_verifiers=hookimpl(lambda register: hook(register), **mark))


LOST = "its register_verifiers returned {}.*; expected None: call register\\("
MISSPELT = " has no mark and is no hook: call it register_recipes; write @hookimpl"


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (SimpleNamespace(register_recipes=lambda register: None), "its register_recipes has no mark; write @hookimpl"),
        (beside_a_good_one("register_recipe"), f"its register_recipe{MISSPELT}"),
        (beside_a_good_one("register_receipes"), f"its register_receipes{MISSPELT}"),
        (marked(returns_a_dict), LOST.format(r"\{'hit': <class")),
        (marked(yields), LOST.format("<generator object yields")),
        (marked(waits), LOST.format("<coroutine object waits")),
        (SimpleNamespace(register_verifiers=hookimpl(yields, wrapper=True)), LOST.format("<generator object yields")),
        (SimpleNamespace(something=1), "offers nothing: .* has none of register_parsers, register_verifiers, reg"),
        (offering(register_recipes=raises(SystemExit())), r"fails in register_recipes \(SystemExit: \)"),
        (offering(register_parsers=raises(KeyError("oh no"))), r"fails in register_parsers \(KeyError: 'oh no'\)"),
        (offering(register_recipes=lambda registry: None), "is not valid: .*register_recipes"),
        (offering(register_recipes=lambda register, more: None), "is not valid: .*register_recipes"),
        (offering(register_recipes=lambda: None), r"fails in register_recipes \(TypeError"),
        (offering(register_recipe=lambda register: None), "is not valid: unknown hook 'register_recipe'"),
        (type("Acme", (), {}), r"is <class '.*Acme'>; let .* name an instance of it"),
    ],
)
def test_a_plugin_that_offers_wrongly_is_named_with_what_to_do(plugin, message):
    with pytest.raises(gr.PluginError, match=f"'acme' of acme-rewards:? {message}"):
        collect([("acme", "acme-rewards", plugin)])


def test_a_helper_of_the_hooks_is_no_misspelt_hook():
    plugin = offering(register_verifiers=lambda register: register("hit", Hit))
    plugin.register_all, plugin.registry_of_recipes = lambda register: None, dict
    assert collect([("acme", "acme-rewards", plugin)]).verifiers["acme/hit"] is Hit


def test_register_takes_no_names_of_others_and_none_after_its_hook():
    with pytest.raises(gr.PluginError, match=r"acme-rewards fails in .*unexpected keyword argument 'plugin'"):
        collect(
            [("acme", "acme-rewards", offering(register_verifiers=lambda register: register("a", Hit, plugin="b")))]
        )
    kept = []
    known = collect([("acme", "acme-rewards", offering(register_verifiers=lambda register: kept.append(register)))])
    with pytest.raises(gr.PluginError, match="verifier 'acme/late' comes too late: register_verifiers has returned"):
        kept[0]("late", Hit)
    assert "acme/late" not in known.verifiers


def test_a_plugin_that_ends_the_process_is_an_error():
    def load():
        raise SystemExit(2)

    point = SimpleNamespace(name="acme", value="acme:x", dist=None, load=load)
    with pytest.raises(gr.PluginError, match=r"plugin 'acme' of acme:x does not load \(SystemExit: 2\)"):
        plugins.loaded(point)


@dataclass(frozen=True)
class Own:
    """A verifier of the plugin's whose scores are anything."""

    score: object = 2.0
    low: float = 0.0
    high: float = 1.0
    needs: frozenset = frozenset()

    def __call__(self, rollouts):
        if isinstance(self.score, Exception):
            raise self.score
        return np.full(len(rollouts), self.score)


class Unbuildable:
    def __init__(self, size=None):
        raise KeyError("size")

    def __call__(self, rollouts):
        raise NotImplementedError


def raises_on(text):
    raise ValueError("what?")


def half(text):
    return [(1.0,)]


def fails(*, size=1):
    raise ZeroDivisionError("oh no")


def ends(*, size=1):
    raise SystemExit(0)


def any_option(**options):
    return gr.recipe("gelato")


def refuses(*, size=1):
    raise gr.RecipeError("size: got 1; expected 2")


@dataclass(frozen=True)
class Above(Band):
    def __call__(self, stats):
        return np.full(len(stats), 7.0)


RAISES, HALF = PatternDialect("rubbish", read=raises_on), PatternDialect("rubbish", read=half)


class Acme:
    @hookimpl
    def register_parsers(self, register):
        register("raises", RAISES)
        register("half", HALF)

    @hookimpl
    def register_verifiers(self, register):
        register("own", Own)
        register("unbuildable", Unbuildable)

    @hookimpl
    def register_recipes(self, register):
        register("fails", fails)
        register("ends", ends)
        register("refuses", refuses)
        register("any", any_option)
        register("wrong", lambda: 5)

    @hookimpl
    def register_methods(self, register):
        register("above", Above)


@pytest.fixture
def acme(monkeypatch):
    """The plugin, installed in this process."""
    monkeypatch.setattr(plugins, "installed", list)
    known = collect([("acme", "acme-rewards", Acme())])
    monkeypatch.setattr(plugins, "_registry", lambda: known)


def score(**options):
    return gr.recipe("composite", response_space="pixel", **options).score(["(1, 2)", "(3, 4)"], [BOX] * 2)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("acme/fails", {}, rf"^acme/fails{ACME} cannot be built \(ZeroDivisionError: oh no\)$"),
        ("acme/ends", {}, rf"^acme/ends{ACME} cannot be built \(SystemExit: 0\)$"),
        ("acme/refuses", {}, rf"^acme/refuses{ACME}: size: got 1; expected 2$"),
        ("acme/any", {"size": 1}, rf"^acme/any{ACME}: its function must name each option"),
        ("acme/wrong", {}, rf"^acme/wrong{ACME}: its plugin returned int; expected a Recipe$"),
        (
            "composite",
            {"parts": {"own": {"verifier": "acme/unbuildable", "weight": 1}}, "response_space": "pixel"},
            rf"^composite: part 'own': acme/unbuildable{ACME} cannot be built \(KeyError: 'size'\)$",
        ),
        (
            "composite",
            {"parts": {"own": {"verifier": "acme/own", "weight": 1, "scoer": 1}}, "response_space": "pixel"},
            rf"^composite: part 'own': acme/own{ACME}: unknown argument 'scoer'; did you mean 'score'",
        ),
    ],
)
def test_what_cannot_be_built_is_named_with_its_plugin(acme, name, options, message):
    with pytest.raises(gr.RecipeError, match=message):
        gr.recipe(name, **options)


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("acme/raises", rf"^dialect 'rubbish' raised ValueError: what\? on '.*'{ACME}$"),
        (
            "acme/half",
            rf"^dialect 'rubbish' raised ValueError: read returned a place of 1 number; expected 2 or 4, or .*{ACME}$",
        ),
    ],
)
def test_a_dialect_that_breaks_on_a_text_is_named_with_its_plugin(acme, dialect, message):
    with pytest.raises(DialectError, match=message):
        score(dialect=dialect, parts={"hit": 1.0})


def test_a_single_text_that_breaks_a_dialect_is_shown(acme):
    recipe = gr.recipe("click", response_space="pixel", dialect="acme/raises")
    with pytest.raises(DialectError, match=rf"raised ValueError: what\? on '\(1, 2\)'{ACME}$"):
        recipe.score("(1, 2)", BOX)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (2.0, "returned 2.0 for row 0; expected 0.0 to 1.0"),
        (float("nan"), "returned nan for row 0"),
        (KeyError("xy"), "raised KeyError: 'xy'"),
    ],
)
def test_a_verifier_that_breaks_is_named_with_part_and_plugin(acme, returned, message):
    recipe = replace(gr.recipe("gelato"), reward=weighted(mine=(1.0, Own(returned))))
    with pytest.raises(gr.VerifierError, match=rf"^part 'mine': verifier Own {message}.*{ACME}$") as caught:
        recipe.score("(1, 2)", [0, 0, 1, 1])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert caught.value.term is None


def test_a_verifier_that_breaks_inside_another_is_named_with_its_plugin(acme):
    recipe = replace(gr.recipe("gelato"), reward=weighted(length=(1.0, DastLength(correct=Own(2.0)))))
    inner = r"part 'length': part 'correct': verifier Own returned 2\.0 for row 0.*"
    with pytest.raises(gr.VerifierError, match=rf"^{inner}{ACME}$"):
        recipe.score("(1, 2)", [0, 0, 1, 1], groups=[0])


def test_a_selector_that_breaks_is_named_with_its_plugin(acme):
    with pytest.raises(
        SelectorError, match=rf"^selector Above\(.*{ACME} returned 7.0 for sample 'a'; expected 0.0 to 1"
    ):
        select(sample_stats(["a"], [1]), selector("acme/above"))


def test_the_origin_of_a_thing_is_its_plugin_or_nothing(acme):
    known = " (plugin 'acme' of acme-rewards)"
    for thing in (Own, Own(), RAISES, fails, Above(), gr.verifier(fails, low=0, high=1)):
        assert origin(thing) == known, thing
    for thing in (Hit, Hit(), BARE_TUPLE, Band(), gr.verifier(len, low=0, high=1), None, 5, object()):
        assert origin(thing) == "", thing


def test_a_built_in_class_that_a_plugin_offers_too_has_no_origin(monkeypatch):
    monkeypatch.setattr(plugins, "_registry", lambda: collected("verifiers", "mine", Hit))
    assert [origin(thing) for thing in (Hit, Hit())] == ["", ""]


def test_the_origin_never_raises_even_where_the_plugins_do_not_load(monkeypatch):
    def broken():
        raise gr.PluginError("does not load")

    monkeypatch.setattr(plugins, "_registry", broken)
    assert origin(Own()) == ""

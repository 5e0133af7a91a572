"""Policies that plug-ins bring: what they do wrong is named, and harms no other."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from contracts.test_listing_policies import history
from halflife import plugins
from halflife.cli import main
from halflife.config import Config
from halflife.core.budget import Budget
from halflife.core.errors import PolicyError, UsageError
from halflife.core.plan import Plan
from halflife.engine import bootstrap
from halflife.kinds.listing import state
from halflife.kinds.protocol import Reading
from halflife.policies.laws import broken, made_view
from halflife.policies.listings import ListingPolicy
from halflife.policies.valuation import gain_policy, offered

OURS = '''
"""Policies whose faults a test chooses."""

from dataclasses import replace

import numpy as np

from halflife.belief.poisson import PoissonBelief
from halflife.policies import Strategy
from halflife.policies.choose import best
from halflife.policies.listings import ListingPolicy

TOLD = {}


class Rule:
    def __call__(self, view, budget, rng):
        if "plan" in TOLD:
            return TOLD["plan"](view, budget)
        gain = np.where(view.held, 1.0, 2.0)  # new pages first
        return best(view, budget, gain, gain, lambda row: "its turn")


class Gains(Rule):
    def gain(self, view):
        return TOLD["gain"](view) if "gain" in TOLD else np.ones(len(view))


def pace(view):
    return TOLD["pace"](view)


rule = Strategy(Rule(), PoissonBelief, about="Mine.", pace=pace)
gains = Strategy(Gains(), PoissonBelief, about="Mine.")
believer = Strategy(Rule(), lambda: lambda *given: None, about="Mine.")
'''
POINTS = """[halflife.policies]
mine = my_policies:rule
gains = my_policies:gains
believer = my_policies:believer
no-module = no_such_module_at_all:rule
exits = exiting_policy:rule
odd = odd_policy:rule
[halflife.policies.listing]
exits = exiting_policy:rule
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Install the policies; the fixture is what they do."""
    site = tmp_path / "site"
    info = site / "halflife_mine-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "my_policies.py").write_text(OURS)
    (site / "exiting_policy.py").write_text("raise SystemExit('two\\nlines')")
    (site / "odd_policy.py").write_text("raise RuntimeError('two\\nlines')")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: halflife-mine\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(site)
    import my_policies  # noqa: PLC0415  (it is installed only now)

    yield my_policies.TOLD
    del sys.modules["my_policies"]


def plan_with(name, view, most=3):
    rng = np.random.default_rng(0)
    return plugins.strategy(name).policy(view, Budget(most), rng)


def fails():
    raise RuntimeError("a bug")


def rows(*numbers, keys=None, gain=1.0):
    def plan(view, budget):
        found = np.array(numbers, dtype=np.intp)
        names = keys or tuple(view.keys[row] for row in found)
        return Plan(names, found, np.full(found.size, gain), str)

    return plan


def everything(view, budget):
    return rows(*range(len(view)))(view, budget)


def changed(view, budget):
    view.weight[:] = 0.0


def free_view(n=5):
    """Return a view in which each page costs a request and may be fetched."""
    view, no = made_view(n, 1), np.zeros(n, bool)
    return replace(view, cost=np.ones(n), looked=no, ready=~no)


PLANS = {
    "raises": (lambda view, budget: fails(), "failed: RuntimeError in my_policies"),
    "exits": (lambda view, budget: sys.exit(3), "failed: SystemExit in my_policies"),
    "none": (lambda view, budget: None, "returns no Plan"),
    "over budget": (everything, "plans a cost of 5 where it has 3 requests"),
    "twice": (rows(1, 1), "plans an item twice"),
    "far off": (rows(7, keys=("x",)), "plans a row that the view has not"),
    "negative": (rows(-1), "plans a row that the view has not"),
    "other keys": (rows(0, keys=("x",)), "plans keys that are not those"),
    "lengths": (rows(0, keys=("x", "y")), "columns differ in length"),
    "nan": (rows(0, gain=np.nan), "a gain that is not finite"),
    "changes": (changed, "failed: ValueError in my_policies"),
}


@pytest.mark.parametrize("case", PLANS)
def test_a_plan_that_cannot_be_carried_out_names_its_policy(told, case):
    told["plan"], why = PLANS[case]
    with pytest.raises(PolicyError, match="policy 'mine'") as caught:
        plan_with("mine", free_view())
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_item_that_was_tried_or_must_wait_cannot_be_planned(told):
    told["plan"] = rows(0)
    view = free_view()
    one = np.arange(5) == 0
    with pytest.raises(PolicyError, match="twice in a turn"):
        plan_with("mine", replace(view, looked=one))
    with pytest.raises(PolicyError, match="must wait after a failure"):
        plan_with("mine", replace(view, ready=~one))


@pytest.mark.parametrize(
    "gain", [None, 3, np.ones(2), np.full(5, np.nan), np.full(5, np.inf), ["x"] * 5]
)
def test_gains_that_are_not_one_number_an_item_name_their_policy(told, gain):
    told["gain"] = lambda view: gain
    policy = plugins.strategy("gains").policy
    assert gain_policy(policy) is policy
    with pytest.raises(PolicyError, match=r"policy 'gains' .* as gain"):
        offered(policy, free_view(), np.ones(5), 3)


def test_a_pace_or_a_belief_that_fails_names_its_policy(told):
    told["pace"] = lambda view: np.full(len(view), -1.0)
    with pytest.raises(PolicyError, match=r"policy 'mine' .* as pace"):
        plugins.strategy("mine").pace(free_view())
    with pytest.raises(PolicyError, match=r"policy 'believer' .* returns no View"):
        plugins.strategy("believer").belief()(None, 0.0, 0.0)


@pytest.mark.parametrize("name", ["mine", "gains"])
def test_a_good_plug_in_keeps_the_laws_when_contained(told, name):
    assert broken(plugins.strategy(name)) == []


def test_a_law_that_a_contained_plug_in_breaks_is_listed(told):
    told["plan"] = everything
    found = broken(plugins.strategy("mine"))
    assert any(line.startswith("stays_within_budget: policy 'mine'") for line in found)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no-module", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("exits", "SystemExit: two lines"),
        ("odd", "RuntimeError: two lines"),
    ],
)
def test_a_policy_that_cannot_be_imported_is_named_with_its_package(
    told, name, why, capsys
):
    with pytest.raises(
        UsageError, match=f"'{name}' of the package halflife-mine"
    ) as no:
        plugins.strategy(name)
    assert str(no.value).endswith(why)
    assert main(["policies"]) == 0
    assert f"cannot be loaded: {why}" in capsys.readouterr().out


def test_a_listing_policy_that_ends_the_program_at_import_is_refused(told):
    with pytest.raises(UsageError, match="SystemExit"):
        plugins.load("halflife.policies.listing", "exits", ListingPolicy)


def test_plan_shows_the_pages_of_other_policies_and_why_some_are_left_out(
    told, tmp_path, capsys
):
    told["plan"] = lambda view, budget: fails()
    path = tmp_path / "halflife.toml"
    path.write_text(
        '[[source]]\nname = "ill"\npolicy = "mine"\npages = ["http://a.example/"]\n'
        '[[source]]\nname = "good"\npages = ["http://b.example/"]\n'
    )
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        bootstrap.add_items(config, store)
    assert main(["plan", "--config", str(path)]) == 0
    said = capsys.readouterr()
    assert "http://b.example/" in said.out
    assert "http://a.example/" not in said.out
    line = (
        "halflife: no pages of ill are planned: policy 'mine' failed: RuntimeError in"
    )
    assert line in said.err
    told.clear()
    assert main(["plan", "--config", str(path)]) == 0
    assert "http://a.example/" in capsys.readouterr().out


LISTINGS = {
    "nan": (ListingPolicy("x", schedule=lambda _: lambda known: np.nan), "due"),
    "text": (ListingPolicy("x", schedule=lambda _: lambda known: "x"), "due"),
    "raises": (ListingPolicy("x", schedule=lambda _: lambda known: fails()), "due"),
    "too few": (ListingPolicy("x", gain=lambda *_: np.ones(7)), "gain"),
    "infinite": (ListingPolicy("x", gain=lambda *_: np.full(1, np.inf)), "gain"),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_a_listing_policy_that_fails_is_named(monkeypatch, tmp_path, case):
    policy, asked = LISTINGS[case]
    monkeypatch.setattr(state, "policy_of", lambda _: policy)
    config = Config.parse(
        '[[source]]\nname = "s"\nkind = "listing"\nurl = "http://a.example/"\n'
        'policy = "interval"\n'
    )
    source = config.source[0]
    with bootstrap.writing(config.model_copy(update={"path": tmp_path / "x"})) as store:
        reading = Reading(config, store, 50.0)
        here = replace(state.state_of(reading, source), collection=history("many"))
        with pytest.raises(PolicyError, match="policy 'interval'"):
            getattr(here, asked)

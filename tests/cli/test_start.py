"""Who keeps pages only does not wait for what other kinds of sources take."""

import json
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import json, signal, sys
from halflife.cli import main
def tell(code):
    print(json.dumps([code, sorted(sys.modules)]))
signal.signal(signal.SIGUSR1, lambda *_: tell(None))
tell(main(sys.argv[1:]))
"""
LISTING = """
[[source]]
name = "jobs"
kind = "listing"
url = "http://127.0.0.1:9/jobs"
allow = ["127.0.0.0/8"]
key = "id"
"""
HEAVY = (
    # forms, listings and searches
    "halflife.core.forms",
    "halflife.probing",
    "halflife.queries",
    "halflife.selection",
    "halflife.summary",
    "halflife.engine.audit",
    "halflife.kinds.listing.schema_drift",
    "halflife.kinds.form.client",
    "halflife.kinds.listing.runner",
    "halflife.kinds.search.selection",
    "halflife.kinds.search.runner",
    "halflife.kinds.form.runner",
    "halflife.models.cox",
    "halflife.models.drift",
    "halflife.kinds.listing.client",
    "halflife.readers.records",
    "halflife.stores.summaries",
    # what looks back, and what shows
    "halflife.replay.backtest",
    "halflife.bench",
    "halflife.demo",
    "halflife.replay.pages",
    "halflife.study",
    "halflife.web",
    # other people's packages
    "aiohttp.web",
    "apprise",
    "jinja2",
    "jmespath",
    "matplotlib",
    "pandas",
    "pyarrow",
    "rich",
    "scipy",
    "selectolax",
    "tomlkit",
)


def heavy(modules):
    """Return what of these modules should not have been imported."""
    inside = tuple(f"{name}." for name in HEAVY)
    return [name for name in modules if name in HEAVY or name.startswith(inside)]


def begun(settings, *words):
    command = [sys.executable, "-u", "-c", PROGRAM, *words, "--config", str(settings)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process):
    """Wait for a program; return its exit code and what it had imported."""
    out, err = process.communicate(timeout=240)
    assert "Traceback" not in err, err
    code, modules = json.loads(out.splitlines()[-1])
    return code, modules


@pytest.mark.parametrize("verb", ["sync", "status", "plan"])
def test_a_verb_imports_nothing_that_pages_do_not_need(settings, verb):
    code, modules = ended(begun(settings, verb, "--json"))
    assert code == 0
    assert heavy(modules) == []


def test_the_service_imports_nothing_that_pages_do_not_need(settings):
    process = begun(settings, "run", "--json")
    assert process.stdout.readline()  # it has told what came of its first turn
    process.send_signal(signal.SIGUSR1)  # on a slow machine it may be ended by force
    said = map(json.loads, process.stdout)
    _, modules = next(one for one in said if isinstance(one, list))
    process.terminate()
    out, err = process.communicate(timeout=240)
    assert "Traceback" not in err, err
    assert process.returncode == 143 or json.loads(out.splitlines()[-1])[0] == 143
    assert "halflife.engine.service" in modules
    # When its turn is over it judges how sources are, and that takes scipy.
    assert [name for name in heavy(modules) if not name.startswith("scipy")] == []


def test_what_a_listing_takes_is_there_when_it_is_wanted(settings):
    with settings.open("a") as file:
        file.write(LISTING)
    code, modules = ended(begun(settings, "sync", "jobs", "--json"))
    assert code == 4  # nobody answers there
    assert "halflife.kinds.listing.runner" in heavy(modules)


def test_the_state_can_be_read_before_what_speaks_http_is_imported():
    """A thread reads what is known while ``run`` imports the rest."""
    code = (
        "import json, sys, halflife.engine.bootstrap; print(json.dumps([*sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, timeout=240
    )
    assert not {"aiohttp", "scipy", "halflife.net.gate"} & {*json.loads(done.stdout)}

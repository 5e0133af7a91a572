"""A Python function as a listing."""

import asyncio
import sys

import pytest

import halflife
from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.engine import bootstrap, once
from halflife.engine.signals import Stop
from halflife.kinds.listing import runner
from halflife.kinds.protocol import Errand
from halflife.replay.world import RecordedAnswer, as_json, serve

SETTINGS = """
[fetch]
delay = 0.0
[[source]]
name = "jobs"
kind = "listing"
python = "{module}:jobs"
allow = ["127.0.0.0/8"]
robots = false
"""
FUNCTION = """
import halflife

@halflife.listing(key="id")
async def jobs(session):
    async for page in session.pages("{url}/jobs", next="links.next"):
        for record in page.json()["jobs"]:
            yield record
"""


def api(asked, now):
    """Answer with two pages of jobs, linked to each other."""
    if asked.url.path != "/jobs":
        return RecordedAnswer(404)
    page = int(asked.url.query.get("page", "1"))
    jobs = [{"id": f"j{page}{i}", "title": f"Job {i}"} for i in range(3)]
    following = {"next": "/jobs?page=2"} if page == 1 else {}
    return as_json({"jobs": jobs, "links": following})


@pytest.fixture
def project(tmp_path, request):
    """Return a function that writes settings and a module of their own."""
    module = f"sources_{abs(hash(request.node.nodeid))}"

    def make(text):
        (tmp_path / f"{module}.py").write_text(text)
        path = tmp_path / "halflife.toml"
        path.write_text(SETTINGS.format(module=module))
        return Config.load(path)

    yield make
    sys.modules.pop(module, None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def synced(config):
    with bootstrap.writing(config) as store:
        looked = asyncio.run(runner.sync(config, store, config.source[0]))
        spells = store.register("jobs").spells
        return looked, {spell.key: spell.attributes for spell in spells}


def test_a_function_that_yields_records_is_kept_like_any_listing(project):
    with serve([api], lambda: 0.0) as (url,):
        looked, held = synced(project(FUNCTION.format(url=url)))
    assert (looked.trouble, looked.requests, looked.change.arrived) == ("", 2, 6)
    assert sorted(held) == ["j10", "j11", "j12", "j20", "j21", "j22"]
    assert held["j10"]["title"] == "Job 0"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("raise KeyError('odd')", "jobs failed: KeyError"),
        ("await session.get('{url}/nothing')", "it answered 404"),
        ("await session.get('http://[]@/')", "no user or password"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "jobs failed: SystemExit: 3"),
        ("raise GeneratorExit", "jobs failed: GeneratorExit"),
    ],
)
def test_whatever_a_function_raises_is_the_trouble_of_its_source(project, line, said):
    with serve([api], lambda: 0.0) as (url,):
        text = FUNCTION.format(url=url) + f"    {line.format(url=url)}\n"
        looked, held = synced(project(text))
    assert said in looked.trouble
    assert len(held) == 6  # what was yielded before stands, and is not all there is


def test_what_a_function_lacks_after_a_failure_is_not_taken_for_gone(project):
    with serve([api], lambda: 0.0) as (url,):
        config = project(FUNCTION.format(url=url))
        synced(config)
        name = config.source[0].python.partition(":")[0]
        broken = FUNCTION.format(url=url).replace(
            "yield record", "yield record\n            raise OSError('cut off')"
        )
        (config.path.parent / f"{name}.py").write_text(broken)
        sys.modules.pop(name)
        looked, _ = synced(config)
    assert "cut off" in looked.trouble
    assert looked.change.missing == looked.change.gone == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def jobs(session): ...", "decorate it with @halflife.listing"),
        ("raise RuntimeError('no')", "cannot be loaded: RuntimeError: no"),
        ("raise SystemExit('no')", "cannot be loaded: SystemExit: no"),
        ("other = 1", "cannot be loaded: AttributeError"),
    ],
)
def test_what_is_no_listing_is_refused_in_one_line(project, text, said):
    config = project(text)
    with bootstrap.writing(config) as store, pytest.raises(ConfigError, match=said):
        asyncio.run(runner.sync(config, store, config.source[0]))


def test_a_name_that_names_no_function_is_refused_by_the_settings(tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text(SETTINGS.format(module="os.path; x"))
    with pytest.raises(ConfigError, match="python"):
        Config.load(path)


def test_the_package_offers_what_it_says():
    assert {getattr(halflife, name) for name in halflife.__all__}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = halflife.nothing


def test_a_module_that_is_missing_stops_no_other_source(project):
    with serve([api], lambda: 0.0) as (url,):
        config = project(FUNCTION.format(url=url))
        missing = SETTINGS[SETTINGS.index("[[") :].format(module="no_such_module")
        path = config.path
        path.write_text(missing.replace('"jobs"', '"ill"', 1) + path.read_text())
        path.write_text(path.read_text().replace("[fetch]\ndelay = 0.0\n", ""))
        path.write_text("[fetch]\ndelay = 0.0\n" + path.read_text())
        config = Config.load(path)
        with bootstrap.writing(config) as store:
            first, second = asyncio.run(
                once.sync(config, store, config.source, Errand(), Stop())
            )
    (line,) = first.failed()
    assert line.startswith("source ill could not be fetched: ")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in line
    assert second.result.change.arrived == 6

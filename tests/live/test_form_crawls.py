"""The service crawls a form in as many turns as its budget makes of it."""

import pytest

from form_worlds import behind, cars
from halflife.config import Config
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine import bootstrap
from halflife.kinds.form import runner as form_runner
from service_parts import HOME, Play, fullest, ledger

HEAD = "[budget]\nrequests = 240\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"


@pytest.mark.parametrize("cap", [None, 20])
def test_a_crawl_is_finished_beside_pages_that_are_kept(tmp_path, server, cap):
    office = FormServer(behind(cars(120), everything=True, page_size=4, cap=cap))
    paths = [f"/{i}" for i in range(12)]
    for path in paths:
        server.pages[path] = ("text/plain", path.encode())
    pages = ", ".join(f'"{server.url}{path}"' for path in paths)
    source = f'[[source]]\nname = "docs"\n{HOME}pages = [{pages}]\n'
    settings = tmp_path / "halflife.toml"
    with serving(office) as url:
        settings.write_text(HEAD + source + snippet(url, office.form.interface))
        Play(settings).run(0.5)
    config = Config.load(settings)
    with bootstrap.reading(config) as store:
        copy = form_runner.load_copy(store, config.source[1])
    assert copy.begun
    assert copy.records.keys() == cars(120).keys()
    assert fullest(ledger(settings), 1.0) <= 240

"""Settings for a service that is tried."""

import pytest

from search_server import Shop, corpus, serving

HEAD = "[budget]\nrequests = {}\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"


@pytest.fixture
def write(tmp_path, request):
    """Return what writes settings with some sources; a module may name its requests."""
    usual = getattr(request.module, "REQUESTS", 480)

    def to_file(*parts, requests=usual):
        path = tmp_path / "halflife.toml"
        path.write_text(HEAD.format(requests) + "".join(parts))
        return path

    return to_file


@pytest.fixture(scope="session")
def search_server():
    """A search engine over a small corpus; tests may exchange its shop."""
    with serving(corpus(400)) as server:
        yield server


@pytest.fixture
def shop(search_server):
    """The shop of the search engine, behaving well and with nothing on its log."""
    search_server.shop = Shop(corpus(400))
    return search_server.shop

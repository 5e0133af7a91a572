"""Settings for a service that is tried."""

import pytest

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

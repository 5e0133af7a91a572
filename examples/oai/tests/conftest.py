import pytest

from plugin_folder import install


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder with the package as pip would install it."""
    return install(tmp_path_factory.mktemp("site"))

"""A user's first quarter of an hour, against ten imitated sources."""

import pytest

from lab.first_quarter import CASES, MORE, measure, run_in_process
from lab.tea_shop import Shop, serving


@pytest.fixture(scope="module")
def shop():
    shop = Shop()
    with serving(shop):
        yield shop


@pytest.mark.parametrize("case", [*CASES, *MORE], ids=lambda case: case.name)
def test_add_alone_finds_key_records_and_paging_and_the_copy_equals_the_truth(
    case, shop, tmp_path, monkeypatch
):
    monkeypatch.setenv("TEA_TOKEN", "Token of-a-test")
    monkeypatch.delenv("HALFLIFE_CONFIG", raising=False)
    found = measure(case, shop, tmp_path, run_in_process)
    assert (found.found, found.equal) == (True, True), found
    assert found.requests <= (4 if case in CASES else 6)

"""What must not wait longer than its longest interval is fetched on time."""

import numpy as np
import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.replay.play import Play, play_recorded
from halflife.replay.world import html

BEGAN, URL = 20_000.0, "http://pages.invalid"
SECONDS = 86400.0


@pytest.mark.parametrize("every", [31, 47])  # no multiple of the pause between turns
def test_pages_are_fetched_within_a_second_of_their_longest_interval(tmp_path, every):
    path = tmp_path / "halflife.toml"
    pages = ", ".join(f'"{URL}/{n}"' for n in range(3))
    path.write_text(
        '[budget]\nrequests = 36000\nper = "hour"\n[fetch]\ndelay = 0.0\n'
        f'[[source]]\nname = "often"\nrobots = false\npages = [{pages}]\n'
        f'min_interval = "{every / 60} min"\nmax_interval = "{every / 60} min"\n'
    )
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        world = {URL: lambda asked, _: html(f"page {asked.url.path}")}
        sent = play_recorded(config, store, world, Play(BEGAN, 600.0 / SECONDS))
    for n in range(3):
        times = [one.at * SECONDS for one in sent if one.url.endswith(f"/{n}")]
        gaps = np.diff(times)
        assert gaps.size >= 600 // every - 1
        assert gaps.min() >= every - 1e-3
        assert gaps.max() <= every + 1.2

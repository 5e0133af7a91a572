"""Figures that the documentation claims, measured on a few pages."""

import json

import pytest

from lab import bench


@pytest.mark.parametrize("name", ["fit", "index"])
def test_a_bench_prints_its_row(name, capsys):
    bench.main([name, "--items", "60"])
    answer = json.loads(capsys.readouterr().out)
    (row,) = answer["results"]
    assert row["items"] == answer["items"] == 60


def test_learning_is_measured_with_an_interval(capsys):
    bench.main(["learn", "--items", "20", "--seeds", "1"])
    answer = json.loads(capsys.readouterr().out)
    assert {"mean", "low", "high"} == set(answer["results"][0]["freshness"])


def test_an_unknown_bench_is_refused(capsys):
    with pytest.raises(SystemExit):
        bench.main(["nope"])
    assert "fit" in capsys.readouterr().err

import json

import pytest

from halflife.bench import cox


def test_the_bench_prints_a_fit_near_the_truth(capsys):
    cox.main(["--size", "2000"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["times"] for row in rows] == ["weeks", "moments"]
    for row in rows:
        assert row["status"] == "OK"
        assert row["coefficients"] == pytest.approx(cox.TRUE, abs=0.2)
        assert row["lifelines_apart"] < 1e-4


def test_the_bench_prints_optimal_frequencies(capsys):
    cox.main(["--allocate", "--size", "300"])
    for row in json.loads(capsys.readouterr().out):
        assert row["kkt_residual"] < 1e-9
        assert row["databases"] == 300

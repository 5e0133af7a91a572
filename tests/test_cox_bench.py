import json
from pathlib import Path

import pytest

from lab import cox


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


SITES = Path(__file__).parents[1] / ".." / "shared" / "data" / "sites"


@pytest.mark.real
@pytest.mark.skipif(not SITES.exists(), reason="no recorded text databases here")
def test_models_of_recorded_databases_predict_those_left_out(capsys):
    cox.main(["--sites", str(SITES), "--size", "15"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["view"] for row in rows] == ["all", "recent"]
    for row in rows:
        assert row["coefficient"]["threshold"] < 0
        assert row["p_value"]["threshold"] < 1e-3
        assert row["robust_error"]["size"] > 2 * row["plain_error"]["size"]
        assert row["left_out"]["curve"]["skill"] > 0

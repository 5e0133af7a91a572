"""Load what halflife keeps into DuckDB, and keep the tables in step.

    python pipeline.py [halflife.toml] [copy.duckdb]

Each source becomes a table of the schema ``kept``. Every run loads what changed since
the last one: new and changed records are written, those that have gone are removed.
"""

import sys

import dlt

import halflife
from halflife.dlt_source import records


def load(settings: str, file: str) -> str:
    """Load what changed; return dlt's report."""
    project = halflife.open_project(settings)
    pipeline = dlt.pipeline(
        "halflife_to_duckdb",
        destination=dlt.destinations.duckdb(file),
        dataset_name="kept",
    )
    return str(pipeline.run(records(project, deletes="hard")))


if __name__ == "__main__":
    given = dict(enumerate(sys.argv[1:]))
    print(load(given.get(0, "halflife.toml"), given.get(1, "copy.duckdb")))

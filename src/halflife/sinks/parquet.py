"""A sink that writes changes into Parquet files, in one folder for each day."""

import io
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.core.change import Change
from halflife.sinks import files
from halflife.sinks.event import moment
from halflife.sinks.extras import import_extra
from halflife.sinks.protocol import Batch, Outlet


class ParquetConfig(SinkConfig):
    """A folder; the changes of a day lie in ``day=YYYY-MM-DD`` below it.

    Attributes:
        kind: `parquet`.
        path: The file or folder.
        batch: The most changes that are delivered together.
        every: Seconds that `run` waits for a batch to fill.

    """

    requires: ClassVar[tuple[str, str]] = ("pyarrow", "parquet")

    kind: Literal["parquet"]
    path: str = Field(min_length=1)
    batch: int = Field(default=10_000, ge=1, le=1_000_000)
    every: float = Field(default=300.0, ge=0, le=86400, allow_inf_nan=False)


class ParquetFolder:
    """Writes each batch to a file named by its numbers; a second copy replaces it.

    Args:
        settings: The folder.
        outlet: Resolves relative paths.

    """

    Settings: ClassVar[type[SinkConfig]] = ParquetConfig

    def __init__(self, settings: ParquetConfig, outlet: Outlet) -> None:
        self._settings, self._folder = settings, outlet.path(settings.path)

    def open(self) -> None:
        """Create the folder; raise if pyarrow is missing."""
        import_extra(self._settings)
        self._folder.mkdir(parents=True, exist_ok=True)

    def deliver(self, batch: Batch) -> None:
        """Write one file for each day of the changes."""
        days: dict[str, list[Change]] = defaultdict(list)
        for change in batch.changes:
            days[moment(change.at).date().isoformat()].append(change)
        name = f"changes-{batch.first:012}-{batch.last:012}.parquet"
        for day, changes in days.items():
            files.replace_file(self._folder / f"day={day}" / name, _file(changes))

    def close(self) -> None:
        """Do nothing: every file is closed."""

    def cancel(self) -> None:
        """Do nothing: a write does not take long."""


def _file(changes: Sequence[Change]) -> bytes:
    """Return changes as a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    from pyarrow import parquet  # noqa: PLC0415

    columns: dict[str, tuple[Any, list[Any]]] = {
        "seq": (pa.int64(), [c.seq for c in changes]),
        "at": (pa.timestamp("us", "UTC"), [moment(c.at) for c in changes]),
        "source": (pa.string(), [_text(c.source) for c in changes]),
        "key": (pa.string(), [_text(c.key) for c in changes]),
        "kind": (pa.string(), [c.kind for c in changes]),
        "fields": (pa.string(), [json.dumps(dict(c.fields)) for c in changes]),
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])
    table = pa.table({n: values for n, (_, values) in columns.items()}, schema=schema)
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _text(text: str) -> str:
    """Return text that UTF-8 can encode, without lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()

"""Request records on disk: one Parquet file a run, one row a request, with the run's own account in its metadata.

Rows are written in groups of bounded size, so memory does not grow with the run. Any Parquet reader opens the file;
the column names and units are those of ``RequestRecord``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay.core.caveat import Caveat
from assay.core.errors import bad_input, environment_failed
from assay.core.provenance import Provenance, make_provenance
from assay.load.types import RequestRecord, RunInfo, WorkerReport

RECORDS_KIND = "assay/records/1"
_META_KIND = b"assay.kind"
_META_INFO = b"assay.run"
_META_PROVENANCE = b"assay.provenance"
_GROUP_ROWS = 5_000
_GROUP_CHUNKS = 500_000
"""A row group ends at so many rows or chunk stamps, whichever comes first: about 30 MB of Python objects."""
_NUMBER_TUPLES = {"chunk_at_ns": "int64", "chunk_tokens": "int32"}
_TEXTS = frozenset({"class_name", "outcome", "finish_reason", "error", "response_id", "stamp_source", "text"})


@cache
def _columns() -> tuple[str, ...]:
    return tuple(field.name for field in fields(RequestRecord))


def _make_schema() -> Any:
    import pyarrow as pa

    columns = []
    for name in _columns():
        if name in _NUMBER_TUPLES:
            kind = pa.list_(pa.field("element", getattr(pa, _NUMBER_TUPLES[name])()))
        elif name in _TEXTS:
            kind = pa.string()
        else:
            kind = pa.int64()
        columns.append(pa.field(name, kind))
    return pa.schema(columns)


class RecordWriter:
    """Writes records to a temporary file beside ``path`` and moves it there when it is whole."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path = path
        self._temporary = path.with_name(f".{path.name}.tmp")
        self._schema = _make_schema()
        self._rows: dict[str, list[Any]] = {name: [] for name in _columns()}
        self._chunks = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._temporary, self._schema, compression="zstd")
        except OSError as error:
            raise _cannot_write(path, error) from error

    def write(self, record: RequestRecord) -> None:
        """Append one record; raises ``EnvironmentFailedError`` when the disk refuses."""
        for name, values in self._rows.items():
            values.append(getattr(record, name))
        self._chunks += len(record.chunk_at_ns)
        if len(self._rows["index"]) >= _GROUP_ROWS or self._chunks >= _GROUP_CHUNKS:
            self._flush()

    def close(self, info: RunInfo, provenance: Provenance) -> None:
        """Write the rest and the run's account, and put the file in its place."""
        self._flush()
        self._writer.add_key_value_metadata(
            {
                _META_KIND: RECORDS_KIND.encode(),
                _META_INFO: json.dumps(asdict(info)).encode(),
                _META_PROVENANCE: json.dumps(asdict(provenance)).encode(),
            }
        )
        try:
            self._writer.close()
            self._temporary.replace(self._path)
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._rows["index"]:
            return
        table = pa.table(self._rows, schema=self._schema)
        try:
            self._writer.write_table(table)
        except OSError as error:
            raise _cannot_write(self._path, error) from error
        self._rows = {name: [] for name in _columns()}
        self._chunks = 0


def write_records(path: Path, records: Iterable[RequestRecord], info: RunInfo, provenance: Provenance) -> None:
    """Write a whole records file."""
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
        writer.close(info, provenance)


def load_records(path: Path) -> tuple[RequestRecord, ...]:
    """Read all records of a run in schedule order; raises ``BadInputError`` for any other file."""
    return tuple(sorted(iter_records(path), key=lambda record: record.index))


def iter_records(path: Path) -> Iterator[RequestRecord]:
    """Yield the records of a run in file order (as they were finished, worker by worker), one row group in memory."""
    file = _open(path)
    for number in range(file.num_row_groups):
        columns = file.read_row_group(number).to_pydict()
        for row in zip(*(columns[name] for name in _columns()), strict=True):
            values = dict(zip(_columns(), row, strict=True))
            for name in _NUMBER_TUPLES:
                values[name] = None if values[name] is None else tuple(values[name])
            yield RequestRecord(**values)


def load_run_info(path: Path) -> RunInfo:
    """Read the run's account from a records file; raises ``BadInputError`` for any other file."""
    document: dict[str, Any] = json.loads(_metadata(_open(path), path)[_META_INFO])
    document["workers"] = tuple(WorkerReport(**worker) for worker in document["workers"])
    document["caveats"] = tuple(Caveat(**caveat) for caveat in document["caveats"])
    return RunInfo(**document)


def load_provenance(path: Path) -> Provenance:
    """Read where a records file came from; raises ``BadInputError`` for any other file."""
    return Provenance(**json.loads(_metadata(_open(path), path)[_META_PROVENANCE]))


def run_provenance(*, schedule_digest: str, seed: int | None) -> Provenance:
    """Return the provenance of a run that follows a schedule."""
    return make_provenance(inputs={"schedule": schedule_digest}, seed=seed)


def _open(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise bad_input("no such file", where=str(path), next_step="run the load that writes it first") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise bad_input(f"not a Parquet file: {str(error).splitlines()[0]}", where=str(path)) from error
    _metadata(file, path)
    return file


def _metadata(file: Any, path: Path) -> Mapping[bytes, bytes]:
    metadata: Mapping[bytes, bytes] = file.metadata.metadata or {}
    kind = metadata.get(_META_KIND, b"").decode()
    if kind != RECORDS_KIND:
        raise bad_input(f'kind: got "{kind}", want "{RECORDS_KIND}"', where=str(path))
    return metadata


def _cannot_write(path: Path, error: OSError) -> Exception:
    return environment_failed(
        f"could not write: {error.strerror or error}", where=str(path), next_step="free space or choose another place"
    )

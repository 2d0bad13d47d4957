"""A data source for Spark 4: captures, logs and sweeps of the benchmark as DataFrames.

    import tinygram.spark
    tinygram.spark.register(spark)
    spark.read.format("tinygram").option("table", "findings").load("captures/*.pcap*")

The tables and their columns are described in book/src/reference/tables.md:

| table | one task reads | options |
|---|---|---|
| findings, connections, ruled_out, verdict, errors | several small captures, or a large one, or the files of one ring buffer | host, port, kind, from_s, to_s, connection_limit, finding_limit |
| responses | a range of a log | range_bytes |
| naglemark | one medium with one pair of buffers, for each policy that is named | those of `tinygram.naglemark` |

Commas separate several values of an option. Paths are local, or on any file system that fsspec knows; files
are streamed. A local path must lead to the same file on every executor; a relative one counts from the folder in
which the driver was started.

What is wrong with a capture's own format is data: a row of `errors`, and one of `verdict`. What the system or the
network denies (a file that has gone, a lost connection, an I/O error) fails the task, so that Spark tries again and
no row is missing in silence.
"""

from __future__ import annotations

import glob
import inspect
import itertools
import json
import os
import stat
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

import tinygram
from tinygram import Prevalence, Table, _native
from tinygram._sources import check, fsspec_of, is_remote, opened, reading
from tinygram._typed import REPEATED, typed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The tables of captures.
CAPTURES = ("findings", "connections", "ruled_out", "verdict", "errors")
TABLES = (*CAPTURES, "responses", "naglemark")

_OF_CAPTURES = ("host", "port", "kind", "from_s", "to_s", "connection_limit", "finding_limit")
_OF_NAGLEMARK = (
    "policy",
    "medium",
    "app_buffer",
    "socket_buffer",
    "receive_buffer",
    "trial",
    "lengths",
    "transfers",
    "requests_per_connection",
    "length_choice",
    "rate",
    "delay",
    "rtt",
    "mss",
    "loss",
    "reorder",
    "duplicate",
    "naglim",
    "ack_policy",
    "ack_timer",
    "server",
    "infer",
    "copy_rule",
    "mclbytes",
    "model",
    "multiplier",
    "repetitions",
    "seed",
)
#: Arguments of `tinygram.prevalence` that have no meaning if executors read the logs.
_NOT_OF_LOGS = ("log", "name", "progress")
#: The options by which a sweep is split into tasks, with the command line's defaults.
_AXES = {
    "medium": "ethernet,fddi",
    "app_buffer": "4K,32K,128K",
    "socket_buffer": "16K,64K,128K",
}
#: How much of a log one task reads.
_RANGE_BYTES = 128 << 20
#: How much of a log is read at a time.
_LINES_BYTES = 1 << 20
#: The most bytes and files of small captures that one task reads.
_BUNDLE_BYTES = 64 << 20
_BUNDLE_FILES = 64
#: A capture without frames, on which options are checked before the job starts.
_NOTHING = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


def register(spark: SparkSession) -> None:
    """Registers the format `tinygram`, and lets Spark pass filters to it.

    Sets `spark.sql.python.filterPushdown.enabled`. Without this setting Spark passes no filters to data sources
    that are written in Python. `spark.dataSource.register(tinygram.spark.TinygramDataSource)` does not need it.
    """
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(FilteringDataSource)


def prevalence(
    spark: SparkSession, path: str, *, range_bytes: int | None = None, **options: Any
) -> dict[str, DataFrame]:
    """Does the same as `tinygram.prevalence`, but reads the logs by ranges on all executors.

    Returns the DataFrames `log`, `shares` and `costs`. The options are those of `tinygram.prevalence`.
    """
    accepted = [name for name in inspect.signature(tinygram.prevalence).parameters if name not in _NOT_OF_LOGS]
    for name in options:
        if name not in accepted:
            known = ", ".join(("range_bytes", *accepted))
            raise ValueError(f"no option {name!r} for prevalence (accepted: {known})")
    cost = options.pop("cost", True)
    asked = typed("prevalence", {**options, "no_cost": not cost})
    reader = spark.read.format("tinygram").option("table", "responses")
    if range_bytes is not None:
        reader = reader.option("range_bytes", str(range_bytes))
    together = reader.load(path).groupBy("log", "what", "bytes")
    rows = together.agg(F.sum("count"), F.min("count"), F.max("count")).collect()
    one_of = {"first-time": "min(count)", "last-time": "max(count)"}
    counted = [
        (row["log"], row["what"], row["bytes"], row[one_of.get(row["what"], "sum(count)")])
        for row in rows
    ]
    found = tinygram.of_prevalence(tinygram.heard(_native.prevalence_of(asked, counted)))
    return {name: _frame(spark, getattr(found, name)) for name in Prevalence.__dataclass_fields__}


def _frame(spark: SparkSession, table: Table) -> DataFrame:
    data = pa.table(table)
    return spark.createDataFrame(data.to_pylist(), from_arrow_schema(data.schema))


class TinygramDataSource(DataSource):
    """The format `tinygram`."""

    @classmethod
    def name(cls) -> str:
        return "tinygram"

    def schema(self) -> StructType:
        asked = Asked.of(self.options)
        asked.try_out()
        return asked.schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return Reader(Asked.of(self.options), schema)


class FilteringDataSource(TinygramDataSource):
    """The same, but applies filters on time, host, kind and capture before rows reach Spark."""

    def reader(self, schema: StructType) -> DataSourceReader:
        return FilteringReader(Asked.of(self.options), schema)


@dataclass(frozen=True)
class Asked:
    """The parsed options."""

    table: str
    paths: tuple[str, ...]
    options: dict[str, str]

    @classmethod
    def of(cls, given: Any) -> Asked:
        options = {name.lower(): str(value) for name, value in dict(given).items()}
        # Spark gives one path as such, and several as a list in JSON.
        path = options.pop("path", "")
        paths = tuple(json.loads(options.pop("paths", "[]"))) or ((path,) if path else ())
        table = options.pop("table", "findings")
        if table not in TABLES:
            raise ValueError(f"no table {table!r} (accepted: {', '.join(TABLES)})")
        accepted = _accepted(table)
        for name in options:
            if name not in accepted:
                known = ", ".join(("table", *accepted))
                raise ValueError(f"no option {name!r} for the table {table} (accepted: {known})")
        if table == "naglemark" and paths:
            raise ValueError("the table naglemark is of no file (accepted: load without a path)")
        if table != "naglemark" and not paths:
            raise ValueError(f"the table {table} is of files (accepted: load with a path or a pattern)")
        return cls(table, paths, options)

    def try_out(self) -> None:
        """Refuses options that can be refused before the job starts."""
        if self.table in CAPTURES:
            _native.tables([*self.typed(), _table(self.table)], [("", _NOTHING)])
        elif self.table == "naglemark":
            quick = {"lengths": "1", "transfers": "1", "repetitions": "1", "trial": "S"}
            _native.tables(replace(self, options={**self.options, **quick}).typed(), [])
        else:
            self.range_bytes()
        self.files()

    def files(self) -> list[str]:
        """Returns the files that the paths name, each once."""
        return list(dict.fromkeys(name for path in self.paths for name in listed(path)))

    def schema(self) -> StructType:
        return from_arrow_schema(pa.schema(_native.empty(self.table)))

    def typed(self) -> list[str]:
        """Returns the options as typed on the command line."""
        meant = {name: _meant(name, value) for name, value in self.options.items()}
        if self.table in CAPTURES:
            return typed("diagnose", meant)
        return typed("naglemark", {**meant, "threads": 1})

    def range_bytes(self) -> int:
        size = self.options.get("range_bytes", str(_RANGE_BYTES))
        if not size.isdigit() or int(size) == 0:
            raise ValueError(f"range_bytes {size!r} is no size (accepted: bytes, from 1 on)")
        return int(size)

    def parts(self) -> list[Part]:
        if self.table in CAPTURES:
            return bundled(_native.streams(self.files()))
        if self.table == "responses":
            size = self.range_bytes()
            return [part for log in self.files() for part in ranges(log, size)]
        axes = {name: self.options.get(name, usual).split(",") for name, usual in _AXES.items()}
        if "policy" in self.options:
            axes["policy"] = self.options["policy"].split(",")
        cells = itertools.product(*axes.values())
        return [Cells({**self.options, **dict(zip(axes, cell))}) for cell in cells]


def _table(table: str) -> str:
    """Returns the option that selects the table on the command line; errors come from verdicts."""
    name = "verdict" if table == "errors" else table
    return f"--table={name.replace('_', '-')}"


def _accepted(table: str) -> tuple[str, ...]:
    if table in CAPTURES:
        return _OF_CAPTURES
    return _OF_NAGLEMARK if table == "naglemark" else ("range_bytes",)


def _meant(name: str, value: str) -> str | list[str] | bool:
    """Returns an option's value, because Spark passes all values as text."""
    if name in REPEATED:
        return [one.strip() for one in value.split(",")]
    if name == "infer":
        if value.lower() not in ("true", "false"):
            raise ValueError(f"infer {value!r} is neither (accepted: true, false)")
        return value.lower() == "true"
    return value


class Part(InputPartition):
    """The work of one task."""

    def rows(self, asked: Asked) -> pa.Table:
        raise NotImplementedError


class Captures(Part):
    """Some captures, each a file or the files of one ring buffer."""

    def __init__(self, streams: Sequence[Sequence[str]]) -> None:
        self.streams = [list(names) for names in streams]

    def rows(self, asked: Asked) -> pa.Table:
        return pa.concat_tables([_of_capture(asked, names) for names in self.streams])


def _of_capture(asked: Asked, names: Sequence[str]) -> pa.Table:
    """Returns the rows of one capture.

    Raises what the system said when a file could not be opened or read to its end.
    """
    files = [Watched(name) for name in names]
    try:
        sources = [(file.name, file.open) for file in files]
        tables, _ = _native.tables([*asked.typed(), _table(asked.table)], sources)
    except ValueError as error:
        _raise_what_was_denied(files)
        return _unreadable(asked.table, names, str(error))
    except OSError:
        _raise_what_was_denied(files)
        raise
    _raise_what_was_denied(files)
    [(_, table)] = tables
    found = pa.table(table)
    if asked.table != "errors":
        return found
    rows = [
        (row["capture"], f"{row['capture']} {row['incomplete']}", row["frames"])
        for row in found.to_pylist()
        if row["incomplete"] is not None
    ]
    return _rows("errors", rows)


def _raise_what_was_denied(files: Sequence[Watched]) -> None:
    for file in files:
        if file.denied is not None:
            raise file.denied


def _unreadable(table: str, names: Sequence[str], error: str) -> pa.Table:
    """Returns the rows of what is not a capture: one in `errors` and in `verdict`."""
    first, last = names[0], names[-1]
    name = first if first == last else f"{first} to {last}"
    if table == "errors":
        return _rows("errors", [(name, error, 0)])
    if table != "verdict":
        return _rows(table, [])
    told = {"capture": name, "result": "cannot-tell", "obstacles": ["not-a-capture"], "remedies": [], "incomplete": error}
    schema = pa.schema(_native.empty("verdict"))
    usual = [None if each.nullable else 0 for each in schema]
    return _rows("verdict", [tuple(told.get(each.name, other) for each, other in zip(schema, usual))])


def bundled(streams: Sequence[Sequence[str]]) -> list[Part]:
    """Returns the captures in bundles of neighbours: a task for each small capture costs more than reading it."""
    parts: list[Part] = []
    bundle: list[Sequence[str]] = []
    left = _BUNDLE_BYTES
    for names in streams:
        size = sum(map(_size, names))
        if bundle and (size > left or len(bundle) == _BUNDLE_FILES):
            parts.append(Captures(bundle))
            bundle, left = [], _BUNDLE_BYTES
        bundle.append(names)
        left -= size
    return [*parts, Captures(bundle)] if bundle else parts


def _size(name: str) -> int:
    """Returns a file's size; more than a bundle's where it is not known."""
    if is_remote(name):
        with reading(name):
            return fsspec_of(name).size(name) or _BUNDLE_BYTES + 1
    try:
        found = os.stat(name)
    except OSError:
        # The task says what is wrong with it.
        return _BUNDLE_BYTES + 1
    return found.st_size if stat.S_ISREG(found.st_mode) else _BUNDLE_BYTES + 1


class Watched:
    """A file to read, and what the system said when it could not be read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.denied: Exception | None = None
        self.file: Any = None
        self.count = 0

    def open(self) -> Watched:
        with self.remembering():
            self.file = opened(self.name)
        return self

    def read(self, size: int) -> bytes:
        with self.remembering():
            chunk = bytes(self.file.read(size))
            self.count += len(chunk)
            whole = getattr(self.file, "size", None)
            # A server that closes the connection early may look like the end of the file.
            if not chunk and isinstance(whole, int) and self.count < whole:
                raise OSError(f"reading {self.name}: ended after {self.count} of {whole} bytes")
            return chunk

    def seek(self, to: int) -> None:
        with self.remembering():
            self.file.seek(to)
            self.count = to

    def close(self) -> None:
        self.file.close()

    @contextmanager
    def remembering(self) -> Iterator[None]:
        try:
            with reading(self.name):
                yield
        except Exception as error:
            self.denied = error
            raise


class Range(Part):
    """The lines of a log that begin in a range."""

    def __init__(self, log: str, start: int, end: int | None) -> None:
        self.log, self.start, self.end = log, start, end

    def rows(self, asked: Asked) -> pa.Table:
        file = Watched(self.log)
        try:
            tables, _ = _native.responses(
                self.log, self.start, lambda: Lines(file.open(), self.start, self.end)
            )
        finally:
            _raise_what_was_denied([file])
        return pa.table(dict(tables)["responses"])


class Cells(Part):
    """Some cells of a sweep."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def rows(self, asked: Asked) -> pa.Table:
        tables, _ = _native.tables(replace(asked, options=self.options).typed(), [])
        return pa.table(dict(tables)["naglemark"])


class Reader(DataSourceReader):
    """Returns a task's rows as Arrow data."""

    def __init__(self, asked: Asked, schema: StructType) -> None:
        self.asked = asked
        self.wanted = schema
        self.conditions: list[Condition] = []

    def partitions(self) -> Sequence[InputPartition]:
        return self.asked.parts()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        rows = partition.rows(self.asked)
        for condition in self.conditions:
            rows = rows.filter(condition.mask(rows))
        yield from rows.cast(_arrow_schema(self.wanted)).to_batches()


class FilteringReader(Reader):
    """Accepts filters, so that fewer rows reach Spark. The analysis is the same with and without filters: it reads
    the whole capture, because the packets around a stall decide whether it is one."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        for it in filters:
            condition = Condition.of(it)
            if condition is None:
                yield it
            else:
                self.conditions.append(condition)


@dataclass(frozen=True)
class Condition:
    """A filter on one column."""

    column: str
    compare: str
    values: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, it: Filter) -> Condition | None:
        compare = _COMPARISONS.get(type(it))
        column: tuple[str, ...] = getattr(it, "attribute", ())
        if compare is None or len(column) != 1 or column[0] not in _FILTERED:
            return None
        value = it.value  # type: ignore[attr-defined]
        return cls(column[0], compare, list(value) if compare == "is_in" else [value])

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        column = rows[self.column]
        if self.compare == "is_in":
            return pc.is_in(column, value_set=pa.array(self.values, column.type))
        return getattr(pc, self.compare)(column, pa.scalar(self.values[0], column.type))


_COMPARISONS = {
    EqualTo: "equal",
    In: "is_in",
    GreaterThan: "greater",
    GreaterThanOrEqual: "greater_equal",
    LessThan: "less",
    LessThanOrEqual: "less_equal",
}
#: Columns whose filters are accepted.
_FILTERED = {"capture", "kind", "start", "end", "client_address", "server_address", "server_port"}


class Lines:
    """The lines of an open file that begin at or after `start` and before `end`."""

    def __init__(self, file: Any, start: int, end: int | None) -> None:
        self.file, self.at, self.end = file, start, end
        self.left = b""
        self.over = False
        if start > 0:
            # The octet before `start` shows whether a line begins at `start`.
            file.seek(start - 1)
            self.at = start - 1
            self._skip_line()

    def _skip_line(self) -> None:
        while chunk := self.file.read(_LINES_BYTES):
            newline = chunk.find(b"\n")
            if newline >= 0:
                self.at += newline + 1
                self.left = chunk[newline + 1 :]
                break
            self.at += len(chunk)
        else:
            self.over = True
        self.over = self.over or self._is_past(self.at)

    def _is_past(self, at: int) -> bool:
        return self.end is not None and at >= self.end

    def read(self, size: int) -> bytes:
        if self.over:
            return b""
        chunk = self.left or self.file.read(size)
        self.left = b""
        if self.end is not None and self.at + len(chunk) >= self.end:
            # A line that begins before the end belongs to this range; it ends at the first newline from there.
            newline = chunk.find(b"\n", max(0, self.end - 1 - self.at))
            if newline >= 0:
                chunk = chunk[: newline + 1]
                self.over = True
        self.at += len(chunk)
        return chunk

    def close(self) -> None:
        self.file.close()


def ranges(log: str, size: int) -> list[Range]:
    """Returns the ranges of a log: a single one if it is compressed."""
    with opened(log) as file:
        packed = file.read(2) == b"\x1f\x8b"
    length = fsspec_of(log).size(log) if is_remote(log) else os.stat(log).st_size
    if packed or length <= size:
        return [Range(log, 0, None)]
    starts = range(0, length, size)
    return [Range(log, start, min(start + size, length)) for start in starts]


def listed(path: str) -> list[str]:
    """Returns the files that a path or a pattern names, the files of ring buffers in their order."""
    path = path.removeprefix("file://")
    if not is_remote(path):
        # An executor has a working folder of its own.
        path = os.path.abspath(path)
    if is_remote(path):
        file_system = fsspec_of(path)
        with reading(path):
            if not glob.has_magic(path):
                if not file_system.exists(path):
                    raise FileNotFoundError("No such file or directory")
                return [path]
            names = [str(file_system.unstrip_protocol(name)) for name in file_system.glob(path)]
    elif glob.has_magic(path) and not os.path.exists(path):
        names = [name for name in glob.glob(path, recursive=True) if not os.path.isdir(name)]
    else:
        check(path)
        names = [path]
    if not names:
        raise FileNotFoundError(f"{path}: no file has such a name (accepted: a path, or a pattern of files)")
    return sorted(names, key=_numbers_as_numbers)


def _numbers_as_numbers(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _arrow_schema(schema: StructType) -> pa.Schema:
    """Returns the schema that Spark expects from a task: with times in UTC. Spark 4.3 changed how to ask for it."""
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:
        return to_arrow_schema(schema)


def _rows(table: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema(_native.empty(table))
    columns: list[Any] = list(zip(*rows)) or [[] for _ in schema]
    arrays = [pa.array(column, each.type) for column, each in zip(columns, schema)]
    return pa.Table.from_arrays(arrays, schema=schema)

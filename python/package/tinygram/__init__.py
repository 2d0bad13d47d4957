"""Finds, explains and removes the stalls and floods of small TCP segments.

Each function returns one `Table` or several: Arrow data that pyarrow (`pyarrow.table(t)`), Polars
(`polars.DataFrame(t)`), pandas (`pandas.DataFrame.from_arrow(t)`) and DuckDB (`duckdb.sql("from t")`) read without
a copy. Without any of these, a table can be iterated over: each row is a dictionary (`for row in seen.findings`, or
`seen.findings.rows()`). book/src/reference/tables.md names every column with its unit.

Options and their checks are the command line's. A wrong option raises a `ValueError` with the command line's
message. A file that does not exist raises a `FileNotFoundError`, a file that may not be read a `PermissionError`,
and any other error of reading an `OSError`. A remark that the command line would print beside its results is a
`TinygramWarning`.

Work runs without the interpreter's lock. Ctrl-C ends it. The waiting thread calls `progress` up to twenty times a
second, with the name of the work, how much of it is done, and how much there is in all (`None` if that is not
known, as for the bytes of a capture).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Optional

from tinygram import _native, _shown
from tinygram._native import Table, __version__
from tinygram._sources import Named, Source, given
from tinygram._typed import Several, several, typed

__all__ = [
    "Diagnosis",
    "Prevalence",
    "Progress",
    "Source",
    "Table",
    "TinygramWarning",
    "__version__",
    "deadlock",
    "diagnose",
    "naglemark",
    "policies",
    "prevalence",
    "reproduce",
]

#: Takes the name of the work, how much of it is done, and how much there is in all, if that is known.
Progress = Callable[[str, int, Optional[int]], object]


class TinygramWarning(UserWarning):
    """A remark that the command line would print on standard error beside its results."""


@dataclass(frozen=True)
class Diagnosis:
    """What captures show."""

    #: A row for each stall or flood of tinygrams: schema tinygram.findings/1, 21 columns.
    findings: Table
    #: A row for each TCP connection: schema tinygram.connections/1, 35 columns.
    connections: Table
    #: A row for each connection and each reason why something that looked like a stall is not one: schema
    #: tinygram.ruled_out/1, 12 columns.
    ruled_out: Table
    #: A row for each capture, with what was read and what could not be decided: schema tinygram.verdict/1, 22 columns.
    verdict: Table

    def __str__(self) -> str:
        return _shown.diagnosis(self)


@dataclass(frozen=True)
class Prevalence:
    """What Nagle's algorithm would do to a web server's responses."""

    #: One row: what was read. Schema tinygram.prevalence_log/1, 12 columns.
    log: Table
    #: A row for each MSS and copying unit: Mogul & Minshall's Table 1 for the logs. Schema
    #: tinygram.prevalence_shares/1, 5 columns.
    shares: Table
    #: A row for each send policy, MSS and copying unit, simulated; no rows with `cost=False`. Schema
    #: tinygram.prevalence_costs/1, 9 columns.
    costs: Table


def diagnose(
    source: Source | Sequence[Source],
    *,
    name: str | None = None,
    host: Several = None,
    port: Several = None,
    from_s: float | None = None,
    to_s: float | None = None,
    kind: Several = None,
    connection_limit: int | None = None,
    finding_limit: int | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Names each stall in captures, the side to blame, what it cost, and the fix.

    source: a path, an address (`s3://...`, through fsspec), bytes, an open binary file, or a list of them; pcap and
        pcapng, plain or in gzip or zstd. The input is streamed and read once. Files of a ring
        buffer (`dump_00001.pcap`, `dump_00002.pcap`) that follow each other in a list are one capture.
    name: the capture's name in rows and errors [default: the path, or the file's own name].
    host: IP addresses; only connections of these are analyzed.
    port: ports; only connections with one of these at either end are analyzed.
    from_s, to_s: seconds after the capture's first frame; only frames between these are analyzed.
    kind: kinds of findings, such as `write-write-read`; only these are reported.
    connection_limit: how many connections are kept in memory at once, about 1.1 kB each [default: 131072].
    finding_limit: how many findings are kept with their details, about 4 kB each as a table [default: 100000].
    progress: is called with the number of bytes read.
    """
    options = {
        "host": host,
        "port": port,
        "from_s": from_s,
        "to_s": to_s,
        "kind": kind,
        "connection_limit": connection_limit,
        "finding_limit": finding_limit,
    }
    tables = ask(typed("diagnose", options), given(source, name), progress)
    return Diagnosis(**tables)


def prevalence(
    log: Source | Sequence[Source],
    *,
    name: str | None = None,
    mss: Several = None,
    mclbytes: Several = None,
    header_bytes: int | None = None,
    profile: str | None = None,
    policy: Several = None,
    rate: str | int | None = None,
    rtt: str | None = None,
    cost: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Prevalence:
    """Computes how many of a web server's responses Nagle's algorithm would stall, and what that costs.

    log: a path, an address, bytes, an open binary file, or a list of them: access logs in the Common or Combined
        Log Format, plain or in gzip. Several logs are counted together.
    name: the log's name in errors.
    mss: maximum segment sizes, in bytes [default: 1460, 4312].
    mclbytes: sizes of the kernel's copying unit, in bytes or such as `4K`; `none` ignores it.
    header_bytes: bytes of response header to add to each body [default: 0].
    profile: the stack that is simulated at both ends [default: linux_6].
    policy: the server's send policies; see `policies` [default: the stack's own, nagle, minshall, dldet, off].
    rate: the link's rate in bits per second, or such as `100M` [default: 100M].
    rtt: round-trip time added to the link, such as `20ms` [default: 0ms].
    cost: whether to simulate what the responses cost.
    threads: how many threads to simulate on; the result does not depend on it [default: all cores].
    progress: is called with the number of bytes read, then with the number of simulated responses.
    """
    options = {
        "mss": mss,
        "mclbytes": mclbytes,
        "header_bytes": header_bytes,
        "profile": profile,
        "policy": policy,
        "rate": rate,
        "rtt": rtt,
        "no_cost": not cost,
        "threads": threads,
    }
    return of_prevalence(ask(typed("prevalence", options), given(log, name), progress))


def naglemark(
    *,
    policy: Several = None,
    app_buffer: Several = None,
    socket_buffer: Several = None,
    receive_buffer: str | int | None = None,
    trial: Several = None,
    lengths: Several = None,
    transfers: int | None = None,
    requests_per_connection: int | None = None,
    length_choice: str | None = None,
    medium: Several = None,
    rate: str | int | None = None,
    delay: str | None = None,
    rtt: str | None = None,
    mss: int | None = None,
    loss: str | None = None,
    reorder: str | None = None,
    duplicate: str | None = None,
    hosts: str | None = None,
    profile: str | None = None,
    backend: Several = None,
    naglim: int | None = None,
    ack_policy: str | None = None,
    ack_timer: str | None = None,
    server: str | None = None,
    infer: bool = False,
    copy_rule: str | None = None,
    mclbytes: str | int | None = None,
    model: str | None = None,
    multiplier: int | None = None,
    repetitions: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Table:
    """Measures which small-segment policy stalls, on which lengths, how often, and at what price.

    Returns a row for each policy, medium, pair of buffers and trial type: schema tinygram.naglemark/1, 18 columns.
    Without arguments it simulates the cells of Mogul & Minshall's Tables 4 and 5. The same seed gives the same
    scores here and on the command line.

    policy: names in the paper's spelling or the project's; `all` for every policy [default: the paper's eleven].
    app_buffer, socket_buffer: sizes in bytes, or such as `4K` [default: 4K, 32K, 128K; 16K, 64K, 128K].
    receive_buffer: size in bytes [default: the model's].
    trial: `s`, `S`, `r`, `R` [default: all that the lengths allow].
    lengths: such as `100..100000/100`, `5000`, `random:1..100000`.
    transfers: how many in each trial. requests_per_connection: how many in the trial types `S` and `R`.
        length_choice: `per-request` or `per-connection`.
    medium: `ethernet`, `fddi`, `point-to-point` and others. rate: of `point-to-point`, in bits per second. delay,
        rtt: such as `20ms`. mss: in bytes. loss, reorder, duplicate: shares of segments, such as `1%`.
    hosts, profile, backend, naglim, ack_policy, ack_timer, server, infer, copy_rule, mclbytes, model: as described
        by `tinygram naglemark --help`.
    multiplier: 2, 3 or 4: a transfer is delayed if it takes more than this many times the estimate.
    repetitions: how often each trial runs [default: 10]. seed: of the random numbers [default: 1].
    threads: how many threads to compute on; the result does not depend on it [default: all cores].
    progress: is called with the number of transfers.
    """
    options = {
        "policy": policy,
        "app_buffer": app_buffer,
        "socket_buffer": socket_buffer,
        "receive_buffer": receive_buffer,
        "trial": trial,
        "lengths": lengths,
        "transfers": transfers,
        "requests_per_connection": requests_per_connection,
        "length_choice": length_choice,
        "medium": medium,
        "rate": rate,
        "delay": delay,
        "rtt": rtt,
        "mss": mss,
        "loss": loss,
        "reorder": reorder,
        "duplicate": duplicate,
        "hosts": hosts,
        "profile": profile,
        "backend": backend,
        "naglim": naglim,
        "ack_policy": ack_policy,
        "ack_timer": ack_timer,
        "server": server,
        "infer": infer,
        "copy_rule": copy_rule,
        "mclbytes": mclbytes,
        "model": model,
        "multiplier": multiplier,
        "repetitions": repetitions,
        "seed": seed,
        "threads": threads,
    }
    return ask(typed("naglemark", options), [], progress)["naglemark"]


def reproduce(
    experiment: Several = None,
    *,
    repetitions: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Table:
    """Reproduces the five papers: returns every published value beside ours.

    Returns a row for each value: schema tinygram.reproduce/1, 16 columns.

    experiment: ids, or the beginning of several, such as `mogul-table-5` or `moldeklev` [default: all].
    repetitions: of trials that the paper repeated ten times [default: 10]. seed: of the random numbers.
    threads: how many threads to compute on; the result does not depend on it [default: all cores].
    progress: is called with the number of finished experiments.
    """
    options = {
        "repetitions": repetitions,
        "seed": seed,
        "threads": threads,
    }
    return ask([*typed("reproduce", options), "--", *several(experiment)], [], progress)["reproduce"]


def deadlock(
    send_buffer: str | int,
    receive_buffer: str | int,
    mss: int,
    *,
    write: str | int | None = None,
    profile: str | None = None,
    policy: str | None = None,
    ack_policy: str | None = None,
    runs: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Table:
    """Computes whether a pair of socket buffers deadlocks a bulk transfer, how, and what helps.

    Returns a row for the buffers, then one for each cure: schema tinygram.deadlock/1, 14 columns.

    send_buffer, receive_buffer: sizes in bytes, or such as `16K`. mss: maximum segment size, in bytes.
    write: bytes of each write [default: 8K]. profile: the stack at both ends [default: sunos_4_1].
    policy, ack_policy: see `policies` [default: the profile's].
    runs: of each simulation [default: 5]. seed: of the random numbers [default: 1].
    progress: is called with the number of cures that were tried.
    """
    options = {
        "send_buffer": send_buffer,
        "receive_buffer": receive_buffer,
        "mss": mss,
        "write": write,
        "profile": profile,
        "policy": policy,
        "ack_policy": ack_policy,
        "runs": runs,
        "seed": seed,
    }
    return ask(typed("deadlock", options), [], progress)["deadlock"]


def policies() -> Table:
    """Lists the send and ACK policies that options accept: schema tinygram.policies/1, 6 columns."""
    return ask(["policies"], [], None)["policies"]


def of_prevalence(tables: dict[str, Table]) -> Prevalence:
    return Prevalence(**{name.removeprefix("prevalence_"): table for name, table in tables.items()})


def ask(words: list[str], sources: Sequence[Named], progress: Progress | None) -> dict[str, Table]:
    return heard(_native.tables(words, sources, progress))


def heard(answer: tuple[list[tuple[str, Table]], list[str]]) -> dict[str, Table]:
    tables, remarks = answer
    for remark in remarks:
        warnings.warn(remark.removeprefix("tinygram: "), TinygramWarning, stacklevel=4)
    return dict(tables)

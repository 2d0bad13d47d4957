"""The Spark data source on a cluster of two executors."""

import contextlib
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import CLEAN, CORPUS, FLOOD, LOG, ROOT, STALLS, command

pytest.importorskip("pyspark")

import tinygram
import tinygram.spark
from pyspark.sql import functions as F
from tinygram.spark import Asked, Lines, listed, ranges


def load(spark, table, path=None, **options):
    reader = spark.read.format("tinygram").option("table", table).options(**options)
    return reader.load(str(path)) if path else reader.load()


def rows_of(frame):
    """Rows in an order of their own, times as numbers."""
    return ordered(row.asDict() for row in frame.collect())


def rows_of_table(table):
    return ordered(pa.table(table).to_pylist())


def ordered(rows):
    plain = [{name: naive(value) for name, value in row.items()} for row in rows]
    return sorted(plain, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def naive(value):
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


@pytest.mark.parametrize("table", ["findings", "connections", "ruled_out", "verdict"])
def test_rows_are_the_command_line_s_in_any_order(spark, tmp_path, table):
    captures = sorted(CORPUS.glob("*.pcap"))
    out = tmp_path / "out.parquet"
    typed = ["--format=parquet", f"--table={table.replace('_', '-')}", "-o", out]
    done = command("diagnose", *captures, *typed)
    assert done.returncode in (0, 3), done.stderr
    wanted = rows_of_table(pa.parquet.read_table(out))
    seen = rows_of(load(spark, table, CORPUS / "*.pcap"))
    assert len(seen) > 5
    assert seen == wanted


def test_the_files_of_a_ring_buffer_are_one_capture(spark, tmp_path):
    whole = STALLS.read_bytes()
    header, frames = whole[:24], pieces(whole[24:], 3)
    for number, piece in enumerate(frames, 1):
        (tmp_path / f"dump_{number:05}_20240101.pcap").write_bytes(header + piece)
    seen = load(spark, "findings", tmp_path / "*.pcap").drop("capture")
    wanted = pa.table(tinygram.diagnose(STALLS).findings).drop_columns("capture")
    assert rows_of(seen) == rows_of_table(wanted)
    assert load(spark, "verdict", tmp_path / "*.pcap").count() == 1


def pieces(records, count=None):
    """The records of a classic capture, in so many parts; each for itself without a count."""
    ends, at = [], 0
    while at < len(records):
        at += 16 + int.from_bytes(records[at + 8 : at + 12], sys.byteorder)
        ends.append(at)
    count = count or len(ends)
    cuts = [0, *(ends[len(ends) * part // count - 1] for part in range(1, count + 1))]
    return [records[one:other] for one, other in zip(cuts, cuts[1:])]


def test_ring_buffers_are_read_in_the_order_of_their_numbers(tmp_path):
    for name in ("x.pcap", "x.pcap1", "x.pcap2", "x.pcap10", "a_00002.pcap", "a_00001.pcap"):
        (tmp_path / name).write_bytes(b"")
    names = [Path(name).name for name in listed(f"{tmp_path}/*")]
    assert names == ["a_00001.pcap", "a_00002.pcap", "x.pcap", "x.pcap1", "x.pcap2", "x.pcap10"]


def test_a_thousand_captures_some_of_them_no_captures_and_one_huge(spark, tmp_path):
    good = [STALLS.read_bytes(), FLOOD.read_bytes(), CLEAN.read_bytes()]
    damaged = {"cut": good[0][:-7], "text": b"GET / HTTP/1.1\r\n", "empty": b"", "head": good[0][:24]}
    for number in range(1000):
        name, content = f"c{number}.pcap", good[number % 3]
        if number % 50 == 7:
            kind = list(damaged)[number // 50 % 4]
            name, content = f"{kind}{number}.pcap", damaged[kind]
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.pcap").mkdir()
    with poured(tmp_path / "huge.pcap") as frames:
        errors = rows_of(load(spark, "errors", tmp_path / "*.pcap"))
    told = {Path(row["capture"]).name: (row["error"], row["frames"]) for row in errors}
    assert len(told) == len(errors) == 15
    for name, (error, read) in told.items():
        assert str(tmp_path) in error and "\n" not in error
        if name.startswith("cut"):
            assert "cut off" in error and read > 0
        if name.startswith("text"):
            assert "is not a capture" in error
        if name.startswith("empty"):
            assert "is empty" in error
    with poured(tmp_path / "huge.pcap"):
        verdicts = load(spark, "verdict", tmp_path / "*.pcap").collect()
    seen = {Path(row["capture"]).name: row for row in verdicts}
    assert len(seen) == len(verdicts) == 1001
    for name, (error, read) in told.items():
        assert seen[name]["incomplete"] and seen[name]["frames"] == read
        if name.startswith("text"):
            assert seen[name]["result"] == "cannot-tell" and seen[name]["obstacles"] == ["not-a-capture"]
    assert seen["huge.pcap"]["frames"] == frames
    assert peak_mib_of_tasks() < 512
    stalls = [pa.table(tinygram.diagnose(path).verdict)["stalls"][0].as_py() for path in (STALLS, FLOOD, CLEAN)]
    assert sum(stalls) > 0
    for name, row in seen.items():
        if name.startswith("c") and not name.startswith("cut"):
            assert row["stalls"] == stalls[int(name[1:].split(".")[0]) % 3]


@contextlib.contextmanager
def poured(path, size=256 << 20):
    """A capture of that many bytes under a name: a pipe, so that it never is on the disk. Gives its frames."""
    capture = STALLS.read_bytes()
    records = capture[24:]
    copies = size // len(records)
    os.mkfifo(path)

    def pour():
        with open(path, "wb") as pipe:
            pipe.write(capture[:24])
            for _ in range(copies):
                pipe.write(records)

    writer = threading.Thread(target=pour, daemon=True)
    writer.start()
    yield copies * len(pieces(records))
    writer.join()
    os.unlink(path)


def peak_mib_of_tasks():
    """The most memory that a process of Python below the executors ever had."""
    parents = set(executors())
    peaks = []
    for entry in Path("/proc").glob("[0-9]*"):
        if any(is_below(int(entry.name), parent) for parent in parents - {int(entry.name)}):
            with contextlib.suppress(OSError):
                peaks += re.findall(r"VmHWM:\s+(\d+) kB", (entry / "status").read_text())
    assert peaks, "there are processes of Python below the executors"
    return max(map(int, peaks)) / 1024


def test_filters_give_the_same_rows_with_and_without_being_pushed_down(spark):
    some_captures = CORPUS / "[fow]*.pcap"
    frame = load(spark, "findings", some_captures)
    server = frame.groupBy("server_address").count().orderBy(F.desc("count")).first()[0]
    middle = frame.select(F.expr("percentile(unix_micros(start), 0.5)")).first()[0]
    some = [
        F.col("kind") == "write-write-read",
        F.col("kind").isin("write-write-read", "tinygram-flood"),
        F.col("server_address") == server,
        F.col("start") >= F.timestamp_micros(F.lit(int(middle))),
        (F.col("kind") == "write-write-read") & (F.col("start") < F.timestamp_micros(F.lit(int(middle)))),
    ]
    everything = frame.cache()
    for condition in some:
        wanted = rows_of(everything.filter(condition))
        filtered = load(spark, "findings", some_captures).filter(condition)
        assert rows_of(filtered) == wanted
        assert 0 < len(wanted) < everything.count()
    plan = load(spark, "findings", some_captures).filter(some[0])._jdf.queryExecution().toString()
    assert "PushedFilters" not in plan or "kind" in plan
    everything.unpersist()


def test_filters_reach_the_task():
    asked = Asked.of({"table": "findings", "path": str(STALLS)})
    reader = tinygram.spark.FilteringReader(asked, asked.schema())
    some = tinygram.spark.EqualTo(("kind",), "tinygram-flood")
    others = tinygram.spark.EqualTo(("habit",), "x")
    assert list(reader.pushFilters([some, others])) == [others]
    [part] = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(part)) == 0


def test_options_are_the_command_line_s(spark):
    frame = load(spark, "findings", CORPUS / "f*.pcap", kind="tinygram-flood")
    kinds = {row["kind"] for row in frame.collect()}
    assert kinds == {"tinygram-flood"}


@pytest.mark.parametrize(
    ("table", "path", "options", "words"),
    [
        ("findings", "/no/such/*.pcap", {}, "/no/such/*.pcap: no file has such a name (accepted:"),
        ("findings", "/no/such.pcap", {}, "reading /no/such.pcap: No such file or directory"),
        ("findings", str(ROOT), {}, "is a folder (accepted: files)"),
        ("findings", None, {}, "is of files (accepted: load with a path or a pattern)"),
        ("stalls", str(STALLS), {}, "no table 'stalls' (accepted: findings, connections"),
        ("findings", str(STALLS), {"kidn": "x"}, "no option 'kidn' for the table findings (accepted: table, host"),
        ("findings", str(STALLS), {"kind": "x"}, "no such kind (accepted: write-write-read"),
        ("findings", str(STALLS), {"host": "x"}, "host"),
        ("naglemark", None, {"policy": "nagel"}, "did you mean nagle"),
        ("naglemark", "x", {}, "is of no file"),
        ("responses", str(LOG), {"range_bytes": "0"}, "range_bytes '0' is no size (accepted: bytes"),
    ],
)
def test_bad_input_is_said_before_there_is_a_job(spark, table, path, options, words):
    with pytest.raises(Exception) as raised:
        load(spark, table, path, **options)
    assert words in str(raised.value)


@pytest.mark.parametrize("path", ["ftp://127.0.0.1:1/x.pcap", "http://127.0.0.1:1/*.pcap", "hdfs://no-such-host:1/x.pcap"])
def test_a_server_that_cannot_be_reached_is_one_line(path):
    for ask in (listed, tinygram.diagnose):
        with pytest.raises(OSError) as raised:
            ask(path)
        assert str(raised.value).startswith(f"reading {path}: ") and "\n" not in str(raised.value)


def test_an_option_that_prevalence_does_not_have_is_said(spark):
    with pytest.raises(ValueError, match=r"no option 'msss' for prevalence \(accepted: range_bytes, mss, "):
        tinygram.spark.prevalence(spark, str(LOG), msss=1460)


def test_prevalence_by_ranges_is_prevalence(spark, tmp_path):
    lines = LOG.read_bytes().splitlines(keepends=True)
    (tmp_path / "one.log").write_bytes(b"".join(lines * 40))
    (tmp_path / "two.log").write_bytes(gzip.compress(b"".join(lines[:3] * 7)))
    (tmp_path / "three.log").write_bytes(b"".join(lines[3:6]).rstrip(b"\n"))
    logs = sorted(tmp_path.glob("*.log"))
    wanted = tinygram.prevalence(logs, mss=1460)
    with pytest.warns(tinygram.TinygramWarning, match="cannot be read"):
        seen = tinygram.spark.prevalence(spark, f"{tmp_path}/*.log", range_bytes=9000, mss=1460)
    for name in ("log", "shares", "costs"):
        assert rows_of(seen[name]) == rows_of_table(getattr(wanted, name))


def test_ranges_give_each_line_once(tmp_path):
    path = tmp_path / "x.log"
    for text in (b"a\nbb\n\nccc\n" * 5, b"no end of line", b"\n\n\n", b"x" * 50 + b"\ny\n"):
        path.write_bytes(text)
        for size in range(1, 60):
            parts = []
            for part in ranges(str(path), size):
                with open(path, "rb") as file:
                    lines, step = Lines(file, part.start, part.end), 3
                    while chunk := lines.read(step):
                        parts.append(chunk)
            assert b"".join(parts) == text, size


def test_a_sweep_has_the_command_line_s_scores(spark):
    options = dict(policy="nagle,minshall,off", medium="ethernet,fddi", app_buffer="4K,32K")
    options |= dict(socket_buffer="16K", trial="S,r", transfers="100", lengths="100..10000/100,random:1..10000")
    options |= dict(repetitions="2", seed="7")
    seen = load(spark, "naglemark", **options)
    wanted = tinygram.naglemark(**options)
    assert seen.rdd.getNumPartitions() == 12
    assert rows_of(seen) == rows_of_table(wanted)
    assert seen.count() == 24


def test_a_relative_path_counts_from_the_driver_s_folder(spark, tmp_path):
    shutil.copy(STALLS, tmp_path / "here.pcap")
    wanted = rows_of(load(spark, "findings", tmp_path / "here.pcap"))
    assert wanted
    # The driver began in this folder; executors have folders of their own.
    folder = os.path.relpath(tmp_path)
    for name in ("here.pcap", "h*.pcap"):
        assert rows_of(load(spark, "findings", f"{folder}/{name}")) == wanted


def test_several_paths_are_read_and_each_file_once(spark, tmp_path):
    for name in ("a", "b", "c"):
        shutil.copy(STALLS, tmp_path / f"{name}.pcap")
    reader = spark.read.format("tinygram").option("table", "verdict")
    paths = [f"{tmp_path}/a.pcap", f"{tmp_path}/[bc].pcap", f"{tmp_path}/b.pcap"]
    seen = [Path(row["capture"]).stem for row in reader.load(paths).collect()]
    assert sorted(seen) == ["a", "b", "c"]


def test_small_captures_share_a_task_and_a_large_one_has_its_own(tmp_path):
    for number in range(200):
        shutil.copy(STALLS, tmp_path / f"small{number}.pcap")
    with open(tmp_path / "large.pcap", "wb") as large:
        large.truncate(tinygram.spark._BUNDLE_BYTES + 1)
    parts = Asked.of({"table": "verdict", "path": f"{tmp_path}/*.pcap"}).parts()
    bundles = [[Path(name).stem for names in part.streams for name in names] for part in parts]
    assert ["large"] in bundles
    assert sum(map(len, bundles)) == 201 and len(bundles) == 1 + 4


def test_a_file_that_has_gone_fails_the_job(spark, tmp_path):
    shutil.copy(STALLS, tmp_path / "a.pcap")
    frame = load(spark, "verdict", tmp_path / "*.pcap")
    assert frame.count() == 1
    os.symlink(tmp_path / "nowhere", tmp_path / "gone.pcap")
    with pytest.raises(Exception, match="gone.pcap: .*No such file or directory"):
        load(spark, "verdict", tmp_path / "*.pcap").collect()


def test_a_disk_that_cannot_be_read_fails_the_task(tmp_path, monkeypatch):
    class Broken:
        def read(self, size):
            raise OSError(5, "Input/output error")

        def close(self):
            pass

    monkeypatch.setattr(tinygram.spark, "opened", lambda name: Broken())
    shutil.copy(STALLS, tmp_path / "a.pcap")
    for table in ("findings", "verdict", "errors"):
        asked = Asked.of({"table": table, "path": f"{tmp_path}/a.pcap"})
        [part] = asked.parts()
        with pytest.raises(OSError, match="a.pcap: .*Input/output error"):
            part.rows(asked)


class Flaky(http.server.BaseHTTPRequestHandler):
    """Closes the connection in the middle of the first answers with content."""

    content = STALLS.read_bytes() * 1
    failures = 2

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        fails = Flaky.failures > 0
        Flaky.failures -= fails
        self.wfile.write(self.content[: len(self.content) // (2 if fails else 1)])
        self.close_connection = True

    def log_message(self, *_):
        pass


def test_a_connection_that_is_lost_in_the_middle_is_tried_again(spark):
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{web.server_port}/flaky.pcap"
    [row] = load(spark, "verdict", address).collect()
    [wanted] = rows_of_table(tinygram.diagnose(STALLS).verdict)
    assert Flaky.failures == 0
    assert row["incomplete"] is None and row["frames"] == wanted["frames"]
    web.shutdown()


def test_an_executor_that_is_killed_loses_and_repeats_no_row(spark, tmp_path):
    for number in range(64):
        shutil.copy(STALLS, tmp_path / f"c{number}.pcap")
    sweep = dict(policy="nagle,off", transfers="2000", repetitions="4", seed="3", trial="S,r", socket_buffer="16K")
    wanted = rows_of(load(spark, "naglemark", **sweep))
    killed = []

    def kill():
        time.sleep(2)
        killed.extend(executors()[:1])
        for process in killed:
            os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    again = rows_of(load(spark, "naglemark", **sweep))
    killer.join()
    assert killed, "there was an executor to kill"
    assert again == wanted
    counts = load(spark, "verdict", tmp_path / "*.pcap").groupBy("capture").count().collect()
    assert len(counts) == 64 and {row["count"] for row in counts} == {1}


def executors():
    """Processes of this session's executors."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            found.append(int(entry.name))
    return [process for process in found if is_below(process, os.getpid())]


def is_below(process, ancestor):
    while process > 1:
        if process == ancestor:
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


@pytest.mark.parametrize("scheme", ["s3", "gs", "http"])
def test_captures_of_other_file_systems_are_read_where_they_are(spark, stores, scheme):
    folder = stores[scheme]
    wanted = {path.name: tinygram.diagnose(path).findings.num_rows for path in (STALLS, FLOOD)}
    for name, count in wanted.items():
        assert tinygram.diagnose(f"{folder}/{name}").findings.num_rows == count
    counts = load(spark, "findings", f"{folder}/*.pcap").groupBy("capture").count().collect()
    seen = {row["capture"].rsplit("/", 1)[1]: row["count"] for row in counts}
    assert seen.pop("cut.pcap") > 0
    assert seen == {name: count for name, count in wanted.items() if count}
    assert all(row["capture"].startswith(f"{scheme}://") for row in counts)
    [error] = load(spark, "errors", f"{folder}/*.pcap").collect()
    assert error["capture"] == f"{folder}/cut.pcap" and "cut off" in error["error"]


@pytest.mark.parametrize("scheme", ["s3", "gs", "http"])
def test_an_address_with_nothing_behind_it_is_said_before_there_is_a_job(spark, stores, scheme):
    for path in (f"{stores[scheme]}/no-such.pcap", f"{stores[scheme]}/no-such-*.pcap"):
        with pytest.raises(FileNotFoundError) as raised:
            listed(path)
        assert path in str(raised.value) and "\n" not in str(raised.value)
        with pytest.raises(Exception, match="no-such"):
            load(spark, "findings", path)
    with pytest.raises(FileNotFoundError, match="no-such.pcap"):
        tinygram.diagnose(f"{stores[scheme]}/no-such.pcap")


def test_a_huge_capture_is_streamed_in_little_memory(tmp_path):
    """A quarter of a GB that is nowhere whole; lab/fleet-figures does it with ten."""
    script = f"""
import resource, tinygram
CAPTURE = open({str(STALLS)!r}, "rb").read()
class Endless:
    def __init__(self):
        self.left, self.chunk = 256 << 20, b""
        self.header, self.at = CAPTURE[:24], 0
    def read(self, size):
        if self.header:
            header, self.header = self.header, b""
            return header
        if self.left <= 0:
            return b""
        self.left -= len(CAPTURE) - 24
        return CAPTURE[24:]
seen = tinygram.diagnose(Endless(), name="endless")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 512

"""Tables: the same as the command line's, and taken by everybody who reads Arrow."""

import gzip
import inspect
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import CLEAN, CORPUS, FLOOD, LOG, ROOT, STALLS, command, document

import tinygram
from tinygram import _native


#: Of a sweep that is to take a moment and no longer.
ONE_CELL = dict(medium="fddi", app_buffer="4K", socket_buffer="16K", trial="r")


def rows(table):
    return pa.table(table).to_pylist()


def test_a_diagnosis_says_what_the_command_line_says():
    captures = [STALLS, FLOOD, CLEAN]
    said = document("diagnose", *captures, "--json")
    seen = tinygram.diagnose(captures)
    findings, connections = rows(seen.findings), rows(seen.connections)
    assert len(findings) == len(said["findings"]) > 5
    numbered_from = {}
    for row in said["connections"]:
        numbered_from.setdefault(row["capture"], row["id"])
    for ours, theirs in zip(findings, said["findings"]):
        for name in ("kind", "capture", "frames", "blame", "confidence", "evidence", "pieces"):
            assert ours[name] == theirs[name], name
        steps = "; or ".join(f"{step['side']}: {step['text']}" for step in theirs["steps"])
        caution = f". {theirs['caution']}" if theirs.get("caution") else ""
        assert ours["advice"] == steps + caution
        assert ours["cost_ms"] == pytest.approx(theirs["cost_ms"], abs=0.0006)
        assert ours["connection"] == theirs["connection"] - numbered_from[ours["capture"]]
        assert ours["start"].timestamp() == pytest.approx(theirs["start"], abs=2e-6)
    assert len(connections) == len(said["connections"])
    for ours, theirs in zip(connections, said["connections"]):
        assert ours["client_address"] in theirs["client"] and str(ours["client_port"]) in theirs["client"]
        assert ours["client_bytes"] == theirs["client_data"]["bytes"]
        assert ours["server_policy"] == theirs["server_data"]["sender_policy"]
        assert ours["stalls"] == theirs["stalls"]
    ruled_out = [one for row in said["connections"] for one in row["ruled_out"]]
    assert [row["kind"] for row in rows(seen.ruled_out)] == [one["kind"] for one in ruled_out]
    verdict = rows(seen.verdict)
    assert [row["capture"] for row in verdict] == [str(path) for path in captures]
    assert sum(row["stalls"] for row in verdict) == said["summary"]["stalls"]
    assert [row["result"] for row in verdict][2] == "none"


@pytest.mark.parametrize("table", ["findings", "connections", "ruled_out", "verdict"])
def test_rows_are_the_same_without_pyarrow(table):
    table = getattr(tinygram.diagnose([STALLS, FLOOD]), table)
    assert list(table) == table.rows() == rows(table)
    assert table.rows(2) == rows(table)[:2]
    assert len(table.rows(10**9)) == len(table)


def test_what_is_printed_is_what_was_found(tmp_path):
    """Also where neither pyarrow nor Polars nor pandas is installed: an interpreter in which they cannot be imported."""
    script = textwrap.dedent(f"""
        import sys
        for name in ("pyarrow", "polars", "pandas", "numpy"):
            sys.modules[name] = None
        import tinygram
        seen = tinygram.diagnose({str(STALLS)!r})
        print(seen)
        print(seen.findings)
        print(sum(row["cost_ms"] for row in seen.findings))
        print(seen.findings._repr_html_()[:7])
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    seen = tinygram.diagnose(STALLS)
    stalls = rows(seen.verdict)[0]["stalls"]
    assert first.startswith(f"{STALLS}: stalls: {stalls} stalls cost "), first
    assert sum("kind=write-write-read" in line for line in others) == min(len(seen.findings), 20)
    assert others[-1] == "<table>"
    assert float(others[-2]) == pytest.approx(sum(row["cost_ms"] for row in rows(seen.findings)))
    # A file's name is its owner's: it must not act on a terminal.
    odd = tmp_path / "odd\x1b[2J.pcap"
    odd.write_bytes(STALLS.read_bytes())
    said = str(tinygram.diagnose(odd))
    assert "\x1b" not in said and "\ufffd[2J" in said


@pytest.mark.parametrize("table", ["findings", "connections", "ruled-out", "verdict"])
def test_files_of_the_command_line_are_the_same_table(table, tmp_path):
    seen = pa.table(getattr(tinygram.diagnose(STALLS), table.replace("-", "_")))
    for form, read in (("parquet", pa.parquet.read_table), ("arrow", pa.ipc.open_file)):
        path = tmp_path / f"out.{form}"
        done = command("diagnose", STALLS, "--format", form, "--table", table, "-o", path)
        assert done.returncode == 0, done.stderr
        written = read(str(path))
        written = written if form == "parquet" else written.read_all()
        assert written.equals(seen)
        assert written.schema.metadata[b"tinygram.schema"].decode() == f"tinygram.{table.replace('-', '_')}/1"


def test_every_verb_gives_the_rows_of_its_file(tmp_path):
    quick = dict(policy=["off", "nagle"], lengths="5000", transfers=3, repetitions=1)
    typed = ["--policy=off,nagle", "--lengths=5000", "--transfers=3", "--repetitions=1"]
    with pytest.warns(tinygram.TinygramWarning):
        seen = tinygram.prevalence(LOG, mss=1460, policy=["nagle", "off"])
    asked = [
        (tinygram.naglemark(**quick), ["naglemark", *typed]),
        (tinygram.reproduce("moldeklev-table-1"), ["reproduce", "moldeklev-table-1"]),
        (seen.costs, ["prevalence", LOG, "--mss=1460", "--policy=nagle,off"]),
        (seen.shares, ["prevalence", LOG, "--mss=1460", "--no-cost", "--table=shares"]),
        (seen.log, ["prevalence", LOG, "--mss=1460", "--no-cost", "--table=log"]),
    ]
    for table, words in asked:
        path = tmp_path / "out.parquet"
        done = command(*words, "--format=parquet", "-o", path)
        assert done.returncode in (0, 1), done.stderr
        assert pa.parquet.read_table(path).equals(pa.table(table)), words


def test_policies_and_deadlock_are_tables_too():
    policies = rows(tinygram.policies())
    said = document("policies", "--format", "json")["policies"]
    assert [row["name"] for row in policies] == [row["name"] for row in said]
    deadlock = rows(tinygram.deadlock("16K", "32K", 9204, runs=2))
    said = document("deadlock", "-s", "16K", "-r", "32K", "-m", "9204", "--runs", "2", "--format", "json")
    assert deadlock[0]["class"] == said["predicted"]["class"]
    assert [row["works"] for row in deadlock[1:]] == [cure["works"] for cure in said["cures"]]


def test_bytes_files_and_compressed_ones_are_one_capture():
    plain = STALLS.read_bytes()
    wanted = pa.table(tinygram.diagnose(STALLS, name="x").findings)
    with open(STALLS, "rb") as file:
        for source in (plain, bytearray(plain), gzip.compress(plain), io.BytesIO(plain), file):
            assert pa.table(tinygram.diagnose(source, name="x").findings).equals(wanted)
        assert not file.closed


def test_a_file_object_that_gives_a_little_at_a_time_is_read_as_a_stream():
    class Trickle(io.RawIOBase):
        def __init__(self):
            self.source, self.asked = io.BytesIO(STALLS.read_bytes()), []

        def read(self, size=-1):
            self.asked.append(size)
            return self.source.read(min(size, 7))

    trickle = Trickle()
    seen = tinygram.diagnose(trickle, name=str(STALLS))
    assert pa.table(seen.findings).equals(pa.table(tinygram.diagnose(STALLS).findings))
    assert len(trickle.asked) > 100 and min(trickle.asked) > 0


def test_everybody_takes_a_table():
    seen = tinygram.diagnose(STALLS).connections
    wanted = pa.table(seen)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(seen).rows() == polars.from_arrow(wanted).rows()
    pandas = pytest.importorskip("pandas")
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert len(pandas.DataFrame.from_arrow(seen)) == len(seen)
    assert len(wanted.to_pandas()) == len(seen)
    duckdb = pytest.importorskip("duckdb")
    stalls = duckdb.sql("select sum(stalls) from seen").fetchall()[0][0]
    assert stalls == sum(row["stalls"] for row in wanted.to_pylist())


def test_a_table_says_what_it_is():
    table = tinygram.policies()
    assert table.schema_id == "tinygram.policies/1"
    assert table.num_rows == len(table) == pa.table(table).num_rows
    assert table.column_names == pa.schema(table).names
    assert "policies/1" in repr(table)
    assert all(field.metadata[b"about"] for field in pa.schema(table))


def test_a_table_shows_itself_in_a_notebook():
    table = tinygram.diagnose(STALLS, name="<b>x</b>").findings
    shown = table._repr_html_()
    assert shown.count("<tr>") == 1 + min(len(table), 20)
    assert "<th>capture</th>" in shown
    assert "<b>" not in shown and "&lt;b&gt;x&lt;/b&gt;" in shown


def test_errors_speak_of_arguments():
    for ask, word in [
        (lambda: tinygram.diagnose(STALLS, host="x"), "host"),
        (lambda: tinygram.diagnose(STALLS, connection_limit=0), "connection_limit"),
        (lambda: tinygram.naglemark(socket_buffer="x"), "socket_buffer"),
    ]:
        with pytest.raises(ValueError) as raised:
            ask()
        assert word in str(raised.value) and "--" not in str(raised.value), raised.value


def test_errors_leave_file_names_as_they_are(tmp_path):
    path = tmp_path / "of --host and --from.pcap"
    path.write_bytes(b"no capture at all")
    for ask in (lambda: tinygram.diagnose(path), lambda: tinygram.diagnose(b"no capture at all", name=path.name)):
        with pytest.raises(ValueError, match="of --host and --from.pcap"):
            ask()


def test_docs_give_the_shapes_that_tables_have():
    for name in ("findings", "connections", "ruled_out", "verdict"):
        columns = len(_native.empty(name).column_names)
        assert f"tinygram.{name}/1, {columns} columns" in squeezed(inspect.getsource(tinygram))
    for name, of in (("naglemark", "naglemark"), ("reproduce", "reproduce"), ("deadlock", "deadlock")):
        columns = len(_native.empty(name).column_names)
        assert f"tinygram.{name}/1, {columns} columns" in squeezed(getattr(tinygram, of).__doc__)


def squeezed(text):
    return " ".join(text.replace("#:", "").split())


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (lambda: tinygram.diagnose("/no/such.pcap"), FileNotFoundError, "reading /no/such.pcap: No such file"),
        (
            lambda: tinygram.diagnose(["/no/such.pcap", CLEAN, "/nor/this.pcap"]),
            FileNotFoundError,
            "reading /no/such.pcap: No such file or directory; reading /nor/this.pcap: No such file or directory",
        ),
        (lambda: tinygram.diagnose(str(ROOT)), ValueError, "is a folder (accepted: files)"),
        (lambda: tinygram.diagnose(ROOT / "Cargo.toml"), ValueError, "Cargo.toml is not a capture: begins with"),
        (lambda: tinygram.diagnose(b""), ValueError, "bytes is empty"),
        (lambda: tinygram.diagnose([]), ValueError, "nothing to read (accepted:"),
        (lambda: tinygram.diagnose(7), TypeError, "int cannot be read (accepted:"),
        (lambda: tinygram.diagnose(io.StringIO("x")), TypeError, "mode 'rb'"),
        (lambda: tinygram.diagnose(CLEAN, kind="nagel"), ValueError, "no such kind (accepted: write-write-read"),
        (lambda: tinygram.diagnose(CLEAN, host="a.b"), ValueError, "host"),
        (lambda: tinygram.diagnose(CLEAN, from_s=-1), ValueError, "from_s -1 is no time in a capture"),
        (lambda: tinygram.naglemark(policy="nagel"), ValueError, "did you mean nagle"),
        (lambda: tinygram.prevalence(LOG, mss=0), ValueError, "mss"),
        (lambda: tinygram.deadlock("1Q", 1, 1460), ValueError, "1Q"),
        (lambda: tinygram.diagnose("s4://bucket/x.pcap"), ValueError, "s4://bucket/x.pcap"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_accepted(ask, kind, words):
    with pytest.raises(kind) as raised:
        ask()
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_may_not_be_read_is_a_permission_error(tmp_path):
    if os.geteuid() == 0:
        code = "os.setuid(65534)"
    else:
        code = "pass"
    path = tmp_path / "closed.pcap"
    path.write_bytes(CLEAN.read_bytes())
    path.chmod(0)
    tmp_path.chmod(0o755)
    script = f"import os, tinygram\n{code}\ntry:\n tinygram.diagnose({str(path)!r})\nexcept PermissionError as e:\n print(e)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    if "No such file" in done.stdout + done.stderr:
        pytest.skip("the test's folder is closed to others")
    assert "Permission denied" in done.stdout, done.stderr


def test_what_the_command_line_says_beside_its_results_is_a_warning():
    with pytest.warns(tinygram.TinygramWarning, match="1 of 9 lines cannot be read"):
        tinygram.prevalence(LOG, cost=False)
    cut = STALLS.read_bytes()[:-5]
    with pytest.warns(tinygram.TinygramWarning, match="cut off"):
        seen = tinygram.diagnose(cut)
    assert "cut off" in rows(seen.verdict)[0]["incomplete"]


def test_progress_is_told_and_may_end_the_work():
    told = []
    tinygram.naglemark(policy="nagle,off", repetitions=2, progress=lambda *it: told.append(it), **ONE_CELL)
    assert told and all(done <= total for _, done, total in told)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)

    def enough(what, done, total):
        raise KeyError("enough")

    began = time.monotonic()
    with pytest.raises(KeyError, match="enough"):
        tinygram.naglemark(policy="all", progress=enough)
    assert time.monotonic() - began < 20


def test_other_threads_run_meanwhile():
    ticks = []
    over = threading.Event()

    def tick():
        while not over.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    # A call of a tenth of a second, however quick the machine is.
    repetitions, began, ended = 1, 0.0, 0.0
    while ended - began < 0.1:
        repetitions *= 2
        began = time.monotonic()
        tinygram.naglemark(policy="nagle", transfers=5000, repetitions=repetitions, threads=1, **ONE_CELL)
        ended = time.monotonic()
    over.set()
    thread.join()
    assert len([at for at in ticks if began <= at <= ended]) > 5


def test_ctrl_c_ends_the_work():
    script = textwrap.dedent("""
        import tinygram
        print("begun", flush=True)
        try:
            tinygram.naglemark(policy="all", repetitions=100)
        except KeyboardInterrupt:
            print("ended", flush=True)
    """)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=30)
    assert said == "ended\n"
    assert child.returncode == 0

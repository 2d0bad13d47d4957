"""The command line that comes with the wheel."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import CLEAN, LOG, ROOT, STALLS, command

import tinygram


def test_it_is_on_the_path_and_of_the_package_s_version():
    script = Path(sys.executable).with_name("tinygram")
    assert script.exists() or shutil.which("tinygram")
    done = command("--version")
    assert done.stdout.decode() == f"tinygram {tinygram.__version__}\n"


def test_exit_codes_are_the_command_line_s():
    assert command("diagnose", CLEAN).returncode == 0
    assert command("diagnose", STALLS, "--fail-on", "stalls>0").returncode == 1
    refused = command("diagnose", ROOT / "Cargo.toml")
    assert refused.returncode == 2
    assert refused.stderr.decode().startswith("tinygram: ")


def test_a_program_may_be_run_beneath_it():
    done = command("run", "--", "sh", "-c", "echo ran; exit 7")
    assert (done.returncode, done.stdout) == (7, b"ran\n"), done.stderr


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_pipe_gets_what_a_file_gets(form, tmp_path):
    quick = ["--policy=off,nagle", "--lengths=5000", "--transfers=3", "--repetitions=1"]
    asked = [
        ["diagnose", STALLS],
        ["diagnose", STALLS, "--table=verdict"],
        ["prevalence", LOG, "--no-cost"],
        ["naglemark", *quick],
        ["reproduce", "moldeklev-table-1"],
    ]
    for words in asked:
        piped = command(*words, f"--format={form}")
        assert piped.stdout.startswith(b"PAR1" if form == "parquet" else b"ARROW1"), piped.stderr
        path = tmp_path / "out"
        filed = command(*words, f"--format={form}", "-o", path)
        assert (filed.returncode, filed.stdout) == (piped.returncode, b""), filed.stderr
        assert path.read_bytes() == piped.stdout
    assert len(list(tmp_path.iterdir())) == 1


def test_nothing_is_left_of_a_file_that_could_not_be_made(tmp_path):
    refused = command("diagnose", ROOT / "Cargo.toml", "--format=parquet", "-o", tmp_path / "out.parquet")
    assert refused.returncode == 2
    assert b"is not a capture" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_tables_are_not_for_a_terminal():
    ours, theirs = pty.openpty()
    typed = [sys.executable, "-m", "tinygram._command", "diagnose", str(STALLS), "--format", "parquet"]
    done = subprocess.run(typed, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "tinygram: --format parquet is not for a terminal (accepted: --output FILE, or a pipe)\n"
    )


def test_ctrl_c_ends_it_at_once_and_leaves_nothing_half_written(tmp_path):
    out = tmp_path / "out.parquet"
    words = ["naglemark", "--policy=all", "--repetitions=100", "--format=parquet", "-o", str(out)]
    child = subprocess.Popen([sys.executable, "-m", "tinygram._command", *words], stderr=subprocess.PIPE)
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=20)
    assert child.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_the_page_comes_with_a_wheel_that_was_built_with_it():
    done = command("page", "-")
    if named := os.environ.get("TINYGRAM_PAGE"):
        assert (done.returncode, done.stdout) == (0, (ROOT / named).read_bytes()), done.stderr
    else:
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"carries no page" in done.stderr

"""`pytest --tinygram` (contrib/guard/pytest-tinygram): a session with a stall fails, one without does not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PLUGIN = Path(ROOT) / "contrib" / "guard" / "pytest-tinygram"

ASKS = f"""
import subprocess, sys

def test_asks_in_two_writes():
    subprocess.run([sys.executable, {str(PLUGIN.parent / "two_writes.py")!r}, *OPTIONS], check=True)
"""
STALLS = ASKS.replace("*OPTIONS", "")
CLEAN = ASKS.replace("*OPTIONS", "'--nodelay'")

BESIDE_PYTHON = Path(sys.executable).with_name("tinygram")
PROGRAM = str(BESIDE_PYTHON) if BESIDE_PYTHON.exists() else shutil.which("tinygram")
needs_guard = pytest.mark.skipif(PROGRAM is None, reason="no tinygram beside this Python or on the PATH")


def session(tmp_path, test, *arguments):
    """Runs pytest with the plugin in a folder that has one test; returns the finished process."""
    (tmp_path / "test_one.py").write_text(test)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "pytest_tinygram", "-p", "no:cacheprovider", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PLUGIN), "PYTEST_ADDOPTS": "", "TINYGRAM": PROGRAM or ""},
        capture_output=True,
        text=True,
        timeout=120,
    )


@needs_guard
def test_a_stall_fails_the_session(tmp_path):
    done = session(tmp_path, STALLS, "--tinygram")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 passed" in done.stdout, "the test itself passes"
    assert "guard watches the connections" in done.stdout
    assert "held" in done.stderr and "connection stall" in done.stderr


@needs_guard
def test_no_stall_passes(tmp_path):
    done = session(tmp_path, CLEAN, "--tinygram")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 connection stalls." in done.stderr


@needs_guard
def test_accepted_stalls_and_the_report(tmp_path):
    done = session(tmp_path, STALLS, "--tinygram", "--tinygram-max-holds", "9", "--tinygram-junit", "stalls.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<testcase" in (tmp_path / "stalls.xml").read_text()


@needs_guard
def test_the_tests_own_failure_is_the_exit_code(tmp_path):
    assert session(tmp_path, "def test_no():\n    assert False\n", "--tinygram").returncode == 1
    assert session(tmp_path, "", "--tinygram").returncode == 5, "pytest's code for no test"


def test_without_the_option_nothing_is_watched(tmp_path):
    done = session(tmp_path, STALLS)
    assert done.returncode == 0
    assert "tinygram" not in done.stderr


def test_no_program_is_one_line(tmp_path):
    done = session(tmp_path, "def test_yes(): pass\n", "--tinygram", "--tinygram-program", "nowhere/tinygram")
    assert done.returncode == 4, "pytest's code for a usage error"
    assert "no program 'nowhere/tinygram'" in done.stderr and "pip install tinygram" in done.stderr


def test_the_package_registers_the_plugin():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"tinygram": "pytest_tinygram"}
    workspace = tomllib.loads((Path(ROOT) / "Cargo.toml").read_text())["workspace"]["package"]
    assert project["version"] == workspace["version"]


def test_the_package_has_the_licences():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    assert project["license-files"] == ["LICENSE-*"]
    for name in ["LICENSE-MIT", "LICENSE-APACHE"]:
        assert (PLUGIN / name).read_text() == (Path(ROOT) / name).read_text()

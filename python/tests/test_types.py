"""What the package says of its types is so: for who calls it, and of what is compiled."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("mypy")

import tinygram

#: Settings, and a folder for what mypy remembers.
CONFIGURATION = ROOT / "python/pyproject.toml"


def mypy(module, *words, folder):
    typed = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(typed, capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_the_package_keeps_its_own_types(tmp_path):
    code, said = mypy("mypy", "--config-file", CONFIGURATION, "--cache-dir", tmp_path, folder=tmp_path)
    assert code == 0, said


def test_the_stubs_are_what_is_compiled(tmp_path):
    code, said = mypy("mypy.stubtest", "tinygram._native", "--mypy-config-file", CONFIGURATION, folder=tmp_path)
    assert code == 0, said


def test_who_calls_it_wrongly_is_told(tmp_path):
    caller = tmp_path / "caller.py"
    caller.write_text(
        "import pathlib, tinygram\n"
        "seen: tinygram.Table = tinygram.diagnose([b'', pathlib.Path('x')], port=[80, '443']).findings\n"
        "print(seen.num_rows + len(seen), seen.column_names[0].upper())\n"
        "tinygram.diagnose(7)\n"
        "tinygram.naglemark(seed='x')\n"
        "tinygram.diagnose('x', kidn='x')\n"
        "tinygram.deadlock('16K', 32768, 1460).row_count\n"
    )
    code, said = mypy("mypy", "--strict", "--cache-dir", tmp_path / "cache", caller, folder=tmp_path)
    wrong = sorted(int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line)
    assert (code, wrong) == (1, [4, 5, 6, 7]), said


def test_it_says_that_it_is_typed():
    assert (Path(tinygram.__file__).parent / "py.typed").exists()

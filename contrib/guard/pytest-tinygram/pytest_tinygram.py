"""`pytest --tinygram`: the session fails if a connection of the tests stalls.

pytest starts itself again under `tinygram guard`, which watches all processes that the tests start. So the options
go before the tests run, workers of pytest-xdist are watched too, and the exit code is guard's: pytest's own if that
is not 0, else 1 for a stall.
"""

from __future__ import annotations

import os
import shutil
import sys

import pytest

UNDER_GUARD = "UNDER_TINYGRAM_GUARD"
"""Set in the environment of what runs under guard."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options, in a group of their own."""
    group = parser.getgroup("tinygram", "connections that stall")
    group.addoption("--tinygram", action="store_true", help="fail if a connection of the tests stalls")
    group.addoption(
        "--tinygram-max-holds", type=int, default=0, metavar="N", help="stalls that are accepted (default: 0)"
    )
    group.addoption(
        "--tinygram-source",
        choices=["kernel", "preload"],
        help="who is asked: the kernel (root, or CAP_BPF and CAP_PERFMON) or a library that is loaded into the"
        " programs (default: the kernel if it may be asked)",
    )
    group.addoption("--tinygram-junit", metavar="FILE", help="also write the stalls as a JUnit report")
    group.addoption(
        "--tinygram-program", metavar="PATH", help="the program (default: $TINYGRAM, else tinygram on the PATH)"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Starts pytest again under guard, once, unless it would run no test."""
    option = config.option
    if not option.tinygram or UNDER_GUARD in os.environ:
        return
    if option.help or option.version or option.collectonly:
        return
    program = _program(option.tinygram_program)
    command = [program, "guard", "--max-holds", str(option.tinygram_max_holds)]
    if option.tinygram_source:
        command += ["--source", option.tinygram_source]
    if option.tinygram_junit:
        command += ["--junit", option.tinygram_junit]
    command += ["--", *_pytest(), *map(str, config.invocation_params.args)]
    os.chdir(config.invocation_params.dir)
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        # Otherwise guard's words would end in pytest's temporary files.
        capture.stop_global_capturing()
    os.execve(program, command, {**os.environ, UNDER_GUARD: "1"})


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says in the header that the session is watched."""
    if UNDER_GUARD in os.environ and config.option.tinygram:
        return "tinygram: guard watches the connections of this session"
    return None


def _program(given: str | None) -> str:
    """Returns the path of the program; raises UsageError with what would help if there is none."""
    wanted = given or os.environ.get("TINYGRAM") or "tinygram"
    found = shutil.which(wanted)
    if found is None:
        raise pytest.UsageError(
            f"--tinygram: no program {wanted!r}; `pip install tinygram`, or name it with --tinygram-program"
        )
    return found


def _pytest() -> list[str]:
    """Returns the command that started pytest; raises UsageError if another program called it as a function."""
    script = sys.argv[0]
    if os.path.basename(script) == "__main__.py":
        return [sys.executable, "-m", "pytest"]
    if os.path.basename(script) in ("pytest", "py.test") and os.path.exists(script):
        return [sys.executable, script]
    raise pytest.UsageError(
        f"--tinygram: pytest was started by {script!r}; run that under guard instead: tinygram guard -- COMMAND"
    )

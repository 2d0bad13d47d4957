"""What all parts of a release share: names, folders, the date, tools."""

import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent


class CannotBuild(Exception):
    """A part cannot be built here; says why, and what would help."""


class Release:
    """One release: the folder it goes to, its version, its date."""

    def __init__(self, to, profile):
        self.to = (to or PROJECT / "dist").resolve()
        self.profile = profile
        # Inside the checkout, so that its paths are mapped with the checkout's.
        self.work = PROJECT / "target/packaging"
        self.version = tomllib.loads((PROJECT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        self.revision = revision()
        self.date = int(os.environ.get("SOURCE_DATE_EPOCH") or output(["git", "log", "-1", "--format=%ct"]))

    def environment(self, **more):
        """The variables that all tools see."""
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.date), "LC_ALL": "C", "TZ": "UTC", **more}

    def made(self, part):
        """What an earlier part left in the work folder."""
        path = self.work / "made" / part
        if not path.exists():
            raise CannotBuild(f"it needs {part}, which was not built")
        return path

    def libraries(self):
        return self.work / "libraries"


def revision():
    """The commit; "unknown" outside of a checkout."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def run(command, **options):
    subprocess.run([str(it) for it in command], check=True, cwd=options.pop("cwd", PROJECT), stdin=subprocess.DEVNULL, **options)


def output(command, **options):
    return subprocess.run([str(it) for it in command], check=True, cwd=PROJECT, stdout=subprocess.PIPE, text=True, **options).stdout


def tool(*names, package):
    """The first of these programs that is here."""
    # What pip installs beside this Python counts too.
    beside = pathlib.Path(sys.executable).parent
    for name in names:
        found = shutil.which(name) or shutil.which(str(beside / name))
        if found:
            return found
    raise CannotBuild(f"{names[0]} is missing ({package})")


def objcopy():
    versions = [f"llvm-objcopy-{number}" for number in range(22, 13, -1)]
    return tool("llvm-objcopy", *versions, package="Debian: apt-get install llvm")


def stripped(program, to, debug, without=None):
    """Copies a program without symbols and line tables, and those into a file of their own that it names; no symbols `without`, a pattern."""
    copy = objcopy()
    run([copy, "--only-keep-debug", *(["--wildcard", f"--strip-symbol={without}"] if without else []), program, debug])
    run([copy, "--strip-all", program, to])
    run([copy, f"--add-gnu-debuglink={debug.name}", to.name], cwd=to.parent)
    to.chmod(0o755)
    debug.chmod(0o644)

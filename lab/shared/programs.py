"""The programs that are measured, built from this tree.

LAB_PROFILE chooses the Cargo profile: `dist` (packages are built so) unless it says otherwise. Figures for a document
are of `dist`; `dev` is for `lab/all`, which only shows that every measurement runs.
"""
import os, shutil, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAB = os.path.join(ROOT, "lab")
PROFILE = os.environ.get("LAB_PROFILE", "dist")
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
BUILT = os.path.join(TARGET, "debug" if PROFILE == "dev" else PROFILE)
TINYGRAM = os.path.join(BUILT, "tinygram")
LOAD = os.path.join(BUILT, "load")
PYTHON = "/usr/bin/python3"


def build(*packages):
    """Builds the program and the load generator, or the packages that are named, with their examples."""
    names = [word for package in packages or ["tinygram", "tinygram-load"] for word in ["-p", package]]
    subprocess.run(["cargo", "build", "--quiet", "--profile", PROFILE, "--bins", "--examples", *names], cwd=ROOT, check=True)


def find():
    """Ends the script, with what to do, if the program or the load generator has not been built."""
    for program in [TINYGRAM, LOAD]:
        if not os.path.exists(program):
            print(f"{program} has not been built: leave out --no-build", file=sys.stderr)
            sys.exit(2)


def missing(needed):
    """Which of these are neither programs nor modules of Python's."""
    return [what for what in needed if not (shutil.which(what) or python_has(what))]


def python_has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0

"""What a release contains: the licences of all dependencies, and the lists of them in CycloneDX."""

import pathlib
import subprocess
import sys

from .build import FEATURES, TARGETS
from .common import PROJECT, CannotBuild, run, tool

LINUX, WINDOWS, PYTHON = (f"LICENCES-THIRD-PARTY{of}.txt" for of in ["", "-WINDOWS", "-PYTHON"])
PROGRAM = ["--features", FEATURES, "--manifest-path", PROJECT / "crates/cli/Cargo.toml"]
# The wheel is a package of its own, with dependencies that no program has.
WHEEL = ["--manifest-path", PROJECT / "python/Cargo.toml"]


def licences(release, _):
    """Writes the licences of everything that is linked in, each text once: of Linux's programs, of that for Windows, of the wheel."""
    tool("cargo-about", package="cargo install cargo-about --locked --features cli")
    targets = {LINUX: [], WINDOWS: ["--target", TARGETS["x86_64-windows"][0]], PYTHON: ["--target", TARGETS["x86_64-linux-glibc"][0]]}
    for name, only in targets.items():
        to = release.to / name
        run(["cargo", "about", "generate", "--fail", "--locked", *only, *(WHEEL if name == PYTHON else PROGRAM), "--config",
             PROJECT / "packaging/about.toml", PROJECT / "packaging/about.hbs", "--output-file", to], env=release.environment())
        if name == LINUX:
            to.write_text(to.read_text() + musl())
        yield to


def musl():
    """Returns the licence of the C library that is linked into the static programs."""
    where = [sys.executable, "-c", "import ziglang; print(ziglang.__path__[0])"]
    asked = subprocess.run(where, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    text = pathlib.Path(asked.stdout.strip()) / "lib/libc/musl/COPYRIGHT"
    if asked.returncode != 0 or not text.exists():
        raise CannotBuild("it needs musl's licence, which ziglang has (pip install ziglang; run this with that Python)")
    return f"\n{'=' * 80}\nmusl, the C library of the static programs\n\n{text.read_text()}"


def bill(release, part):
    """Returns the path of the list of what a part is made of."""
    return release.to / f"tinygram-{release.version}-{part}.cdx.json"


def sbom(release, _):
    """Writes what each program and the wheel are made of."""
    tool("cargo-cyclonedx", package="cargo install cargo-cyclonedx --locked")
    made_of = {name: (target, PROGRAM) for name, (target, _) in TARGETS.items()}
    made_of["python"] = (TARGETS["x86_64-linux-glibc"][0], WHEEL)
    for name, (target, package) in made_of.items():
        to = bill(release, name)
        run(["cargo", "cyclonedx", "--format", "json", "--spec-version", "1.5", "--target", target, "--override-filename",
             to.stem, *package, "--quiet"], env=release.environment())
        # It writes beside each manifest of the workspace.
        made = [*PROJECT.glob(f"crates/*/{to.name}"), *PROJECT.glob(f"lab/*/{to.name}"), *PROJECT.glob(f"python/{to.name}")]
        # The references have the checkout's path, which differs from folder to folder.
        text = (package[-1].parent / to.name).read_text().replace(f"file://{PROJECT}", "file:///tinygram")
        to.write_text(text)
        for path in made:
            path.unlink()
        yield to

"""What a release contains: the licences of all dependencies, and the lists of them in CycloneDX."""

from . import runtimes
from .build import FEATURES, TARGETS
from .common import PROJECT, run, tool

LINUX, WINDOWS, PYTHON = (f"LICENCES-THIRD-PARTY{of}.txt" for of in ["", "-WINDOWS", "-PYTHON"])
PROGRAM = ["--features", FEATURES, "--manifest-path", PROJECT / "crates/cli/Cargo.toml"]
# The wheel is a package of its own, with dependencies that no program has.
WHEEL = ["--manifest-path", PROJECT / "python/Cargo.toml"]


def licences(release, _):
    """Writes the licences of everything that is linked in, each text once: of Linux's programs, of that for Windows, of the wheel."""
    tool("cargo-about", package="cargo install cargo-about --locked --features cli")
    # Last what needs MinGW.
    targets = {LINUX: [], PYTHON: ["--target", TARGETS["x86_64-linux-glibc"][0]], WINDOWS: ["--target", TARGETS["x86_64-windows"][0]]}
    for name, only in targets.items():
        to = release.to / name
        run(["cargo", "about", "generate", "--fail", "--locked", *only, *(WHEEL if name == PYTHON else PROGRAM), "--config",
             PROJECT / "packaging/about.toml", PROJECT / "packaging/about.hbs", "--output-file", to], env=release.environment())
        to.write_text(to.read_text() + "".join(unlisted(name)))
        yield to


def unlisted(name):
    """Returns the licences of what is linked in and in no list of dependencies."""
    targets = {LINUX: [it for it in TARGETS if "linux" in it], WINDOWS: ["x86_64-windows"], PYTHON: ["x86_64-linux-glibc"]}[name]
    runtime = {LINUX: lambda: runtimes.of_zig("musl", "glibc"), WINDOWS: runtimes.of_mingw, PYTHON: lambda: runtimes.of_zig("glibc")}[name]
    return [*runtimes.rust(TARGETS[it][0] for it in targets), *runtime()]


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

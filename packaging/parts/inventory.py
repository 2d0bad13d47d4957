"""What a release contains: the licences of all dependencies, and the list of them in CycloneDX."""

from .build import FEATURES, TARGETS
from .common import PROJECT, run, tool


def licences(release, _):
    """Writes the licences of everything that is linked into the programs, each text once: of Linux's, and of that for Windows."""
    tool("cargo-about", package="cargo install cargo-about --locked --features cli")
    for name, only in [(LINUX, []), (WINDOWS, ["--target", TARGETS["x86_64-windows"][0]])]:
        to = release.to / name
        run(["cargo", "about", "generate", "--fail", "--locked", "--features", FEATURES, *only, "--manifest-path",
             PROJECT / "crates/cli/Cargo.toml", "--config",
             PROJECT / "packaging/about.toml", PROJECT / "packaging/about.hbs", "--output-file", to], env=release.environment())
        yield to


LINUX, WINDOWS = "LICENCES-THIRD-PARTY.txt", "LICENCES-THIRD-PARTY-WINDOWS.txt"


def sbom(release, _):
    """Writes what each program is made of."""
    tool("cargo-cyclonedx", package="cargo install cargo-cyclonedx --locked")
    for name, (target, _) in TARGETS.items():
        base = f"tinygram-{release.version}-{name}.cdx"
        run(["cargo", "cyclonedx", "--format", "json", "--spec-version", "1.5", "--target", target, "--override-filename", base,
             "--features", FEATURES, "--manifest-path", PROJECT / "crates/cli/Cargo.toml", "--quiet"], env=release.environment())
        # It writes beside each manifest of the workspace.
        made = [path for members in ("crates", "lab") for path in PROJECT.glob(f"{members}/*/{base}.json")]
        # The references have the checkout's path, which differs from folder to folder.
        text = (PROJECT / "crates/cli" / f"{base}.json").read_text().replace(f"file://{PROJECT}", "file:///tinygram")
        (release.to / f"{base}.json").write_text(text)
        for path in made:
            path.unlink()
        yield release.to / f"{base}.json"

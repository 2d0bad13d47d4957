"""The program for Windows, linked by MinGW, and its archive."""

import io
import shutil
import time
import zipfile

from . import book
from .build import FEATURES, TARGETS, Rust
from .common import PROJECT, run, stripped, tool


def program(release, name):
    """Makes tinygram.exe; its line tables are a file of their own."""
    target, _ = TARGETS[name]
    linker = tool("x86_64-w64-mingw32-gcc", package="Debian: apt-get install gcc-mingw-w64-x86-64")
    rust = Rust(target)
    # Else the time of linking is in the file.
    environment = rust.environment(release, [f"-Clinker={linker}", "-Clink-arg=-Wl,--no-insert-timestamp"])
    page = release.work / "made/tinygram.html"
    if page.exists():
        environment["TINYGRAM_PAGE"] = str(page)
    run([rust.cargo, "build", *rust.options(), "--target", target, "--profile", release.profile, "--package", "tinygram",
         "--features", FEATURES, "--bin", "tinygram", "--locked"], env=environment)
    to = release.work / "made" / name
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    # rustc makes libraries of the system's functions in folders with random names, which are in the names of their symbols.
    stripped(release.work / target / release.profile / "tinygram.exe", to / "tinygram.exe",
             to / f"tinygram-{release.version}-{name}.debug", without="*_dll_imports_lib*")
    yield to / "tinygram.exe"


def archive(release, base, documents):
    """A zip whose octets depend on the files alone."""
    name = "x86_64-windows"
    files = {file.name: file for file in [release.made(name) / "tinygram.exe", *documents]}
    files["README.md"] = PROJECT / "packaging/archive-windows.md"
    files |= book.carried()
    octets = io.BytesIO()
    with zipfile.ZipFile(octets, "w") as packed:
        for entry, file in sorted(files.items()):
            about = zipfile.ZipInfo(f"{base}/{entry}", time.gmtime(release.date)[:6])
            about.external_attr = 0o644 << 16
            packed.writestr(about, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    to = release.to / f"{base}.zip"
    to.write_bytes(octets.getvalue())
    return to

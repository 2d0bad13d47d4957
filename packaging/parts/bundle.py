"""Packages: archives, .deb, a container's image, a wheel."""

import gzip
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

from . import book, inventory, windows
from .build import TARGETS, Rust
from .common import PROJECT, CannotBuild, output, run, tool

MAINTAINER = "tinygram's maintainers <maintainers@tinygram.invalid>"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


def native(release):
    """A built program that this machine runs, for what it prints of itself."""
    for name in ["x86_64-linux-static", "x86_64-linux-glibc"]:
        program = release.work / "made" / name / "tinygram"
        if program.exists() and os.uname().machine == "x86_64":
            return program
    raise CannotBuild("it needs x86_64-linux-static, which was not built")


def verbs(program):
    """The verbs that the program's help lists."""
    listed = output([program, "--help"]).split("\nOptions:")[0]
    names = re.findall(r"^  ([a-z]+)  +\S", listed, re.M)
    if "diagnose" not in names:
        raise SystemExit(f"{program} --help lists no verbs that can be read")
    return [name for name in names if name != "help"]


def documents(release, program, to):
    """Writes the manual pages and completion scripts, as the program prints them, below `to`."""
    pages = to / "share/man/man1"
    pages.mkdir(parents=True, exist_ok=True)
    for verb in [None, *verbs(program)]:
        name = "tinygram" if verb is None else f"tinygram-{verb}"
        text = output([program, "man", *([verb] if verb else [])]) + FILES
        (pages / f"{name}.1.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    for shell, file in [("bash", "bash-completion/completions/tinygram"), ("zsh", "zsh/vendor-completions/_tinygram"),
                        ("fish", "fish/vendor_completions.d/tinygram.fish")]:
        path = to / "share" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output([program, "completions", shell]))


def licences(release, third=inventory.LINUX):
    """The files of licences: ours, and those of what is linked in."""
    files = [PROJECT / name for name in LICENCES]
    third = release.to / third
    if not third.exists():
        raise CannotBuild("it needs licences, which were not made")
    return [*files, third]


def made_of(release, part):
    """Returns the list of what a part is made of."""
    listed = inventory.bill(release, part)
    if not listed.exists():
        raise CannotBuild("it needs sbom, which was not made")
    return listed


def archives(release, _):
    """An archive for each program, and one of all line tables."""
    built = [name for name in TARGETS if (release.work / "made" / name).exists()]
    if not built:
        raise CannotBuild("it needs a program, and none was built")
    debug = {}
    for name in built:
        folder = release.work / "made" / name
        base = f"tinygram-{release.version}-{name}"
        debug |= {file.name: file for file in folder.glob("*.debug")}
        if name == "x86_64-windows":
            yield windows.archive(release, base, [*licences(release, inventory.WINDOWS), made_of(release, name)])
            continue
        files = {f"{base}/{file.name}": file for file in [folder / "tinygram", *licences(release), made_of(release, name)]}
        files[f"{base}/README.md"] = PROJECT / "packaging/archive.md"
        files |= {f"{base}/{path}": file for path, file in book.carried().items()}
        yield packed(release, release.to / f"{base}.tar.gz", files)
    yield packed(release, release.to / f"tinygram-{release.version}-line-tables.tar.gz", debug)


def packed(release, to, files):
    """A tar whose octets depend on the files alone."""
    octets = io.BytesIO()
    with tarfile.open(fileobj=octets, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, file in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = file.stat().st_size, release.date
            entry.mode = 0o755 if os.access(file, os.X_OK) else 0o644
            with file.open("rb") as content:
                tar.addfile(entry, content)
    to.write_bytes(gzip.compress(octets.getvalue(), 9, mtime=release.date))
    return to


def deb(release, _):
    """A package for Debian and what is made of it."""
    tool("dpkg-deb", package="Debian: dpkg")
    made = release.made("x86_64-linux-glibc")
    program = made / "tinygram"
    tree = release.work / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    usr = tree / "usr"
    place(program, usr / "bin/tinygram", 0o755)
    documents(release, native(release), usr)
    for name in ["glibc", "musl"]:
        suffix = "" if name == "glibc" else "-musl"
        # Where `run` looks before it unpacks one, and where `install` points services to.
        place(release.libraries() / f"preload-{name}.so", usr / f"lib/tinygram/libtinygram{suffix}.so", 0o644)
    unit = (PROJECT / "contrib/watch/tinygram-watch.service").read_text().replace("/usr/local/bin/", "/usr/bin/")
    write(unit, usr / "lib/systemd/system/tinygram-watch.service")
    for file in licences(release):
        place(file, usr / "share/doc/tinygram" / ("copyright" if file.name.startswith("LICENCES") else file.name), 0o644)
    book.check(native(release), verbs(native(release)))
    for path, file in book.carried().items():
        place(file, usr / "share/doc/tinygram" / path, 0o755 if os.access(file, os.X_OK) else 0o644)
    for name in ["dashboard.json", "rules.yaml"]:
        place(PROJECT / "contrib/watch" / name, usr / "share/tinygram" / name, 0o644)
    page = release.to / "tinygram.html"
    if page.exists():
        place(page, usr / "share/doc/tinygram/tinygram.html", 0o644)
    installed = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file()) // 1024
    write(CONTROL.format(version=release.version, size=installed, maintainer=MAINTAINER), tree / "DEBIAN/control")
    write(POSTRM, tree / "DEBIAN/postrm", 0o755)
    write(PRERM, tree / "DEBIAN/prerm", 0o755)
    for path in sorted(tree.rglob("*"), reverse=True):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (release.date, release.date))
    to = release.to / f"tinygram_{release.version}_amd64.deb"
    # With several threads xz would cut otherwise than with one.
    run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z6", "--threads-max=1", "--build", tree, to],
        env=release.environment(), stdout=subprocess.DEVNULL)
    yield to


def place(file, to, mode):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)
    to.chmod(mode)


def write(text, to, mode=0o644):
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text)
    to.chmod(mode)


# What the help calls "the book".
FILES = """\
.SH FILES
.TP
.I /usr/share/doc/tinygram/book/src/index.md
The book, as text.
"""

CONTROL = """\
Package: tinygram
Version: {version}
Architecture: amd64
Maintainer: {maintainer}
Installed-Size: {size}
Depends: libc6 (>= 2.17), libgcc-s1 | libgcc1
Section: net
Priority: optional
Description: finds, explains and removes stalls and floods of small TCP segments
 Nagle's algorithm and delayed acknowledgments let small writes wait for 40 ms and
 longer. tinygram finds such stalls in captures and on live hosts, says which line
 of which program causes them, tries the remedy and puts it back if it does not help.
"""

# While the program is still there, what it changed is put back and what `install` wrote is taken out; a purge removes
# what it keeps on disk. packaging/parts/removal tries it.
PRERM = """\
#!/bin/sh
set -e
if [ "$1" = remove ]; then
  # In a chroot, or in a container that sees the host's processes, the journal is the host's, and so are the changes in it.
  if [ "$(stat -Lc %d:%i /proc/1/root 2> /dev/null)" = "$(stat -Lc %d:%i /)" ] && [ -z "$DPKG_ROOT" ]; then
    code=0
    said=$(/usr/bin/tinygram set --undo 2>&1) || code=$?
    # 1: nothing was in force.
    [ "$code" = 1 ] || echo "$said"
    [ "$code" -le 1 ] || echo "tinygram: not all was put back (above); the journal, /var/lib/tinygram, stays until a purge"
  elif [ -s /proc/1/root/var/lib/tinygram/journal ]; then
    echo "tinygram: this is not the root of the running system; what is changed there stays, until \\`tinygram set --undo\\` there"
  fi
  if [ -e /var/lib/tinygram/installed.json ]; then
    /usr/bin/tinygram install --remove || echo "tinygram: not all that install wrote is taken out (above)"
  fi
  if [ -d /run/systemd/system ]; then
    systemctl --quiet disable --now tinygram-watch.service || true
  fi
fi
"""
POSTRM = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
  rm -rf /var/lib/tinygram /var/cache/tinygram /run/tinygram
fi
"""


def image(release, _):
    """A container's image with nothing but the static program."""
    buildah = tool("buildah", package="Debian: apt-get install buildah")
    made = release.made("x86_64-linux-static")
    context = release.work / "image"
    shutil.rmtree(context, ignore_errors=True)
    place(made / "tinygram", context / "tinygram", 0o755)
    for file in licences(release):
        place(file, context / "licences" / file.name, 0o644)
    for path in sorted(context.rglob("*"), reverse=True):
        os.utime(path, (release.date, release.date))
    to = release.to / f"tinygram-{release.version}-x86_64-image.tar"
    to.unlink(missing_ok=True)
    storage = release.work / "storage"
    words = [buildah, "--root", storage / "root", "--runroot", storage / "run", "--storage-driver", "vfs"]
    name = f"localhost/tinygram:{release.version}"
    run([*words, "build", "--layers=false", "--timestamp", str(release.date), "--file", PROJECT / "packaging/Containerfile",
         "--label", f"org.opencontainers.image.version={release.version}",
         "--label", f"org.opencontainers.image.revision={release.revision}", "--tag", name, context], env=release.environment(), stdout=subprocess.DEVNULL)
    archive = release.work / "image.tar"
    archive.unlink(missing_ok=True)
    run([*words, "push", "--quiet", name, f"docker-archive:{archive}:{name}"], env=release.environment())
    shutil.rmtree(storage)
    yield again(release, archive, to)


def again(release, archive, to):
    """Packs an image anew: the entries in order, with the release's date."""
    with tarfile.open(archive) as old, tarfile.open(to, "w", format=tarfile.PAX_FORMAT) as new:
        for entry in sorted(old.getmembers(), key=lambda it: it.name):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname, entry.pax_headers = release.date, 0, 0, "", "", {}
            new.addfile(entry, old.extractfile(entry) if entry.isfile() else None)
    return to


def wheel(release, _):
    """A wheel for Python 3.10 and later; it has the command line, too."""
    maturin = tool("maturin", package="pip install maturin")
    target, _ = TARGETS["x86_64-linux-glibc"]
    rust = Rust(target)
    environment = rust.environment(release)
    environment["TINYGRAM_LIBRARIES"] = str(release.libraries())
    if (release.work / "made/tinygram.html").exists():
        environment["TINYGRAM_PAGE"] = str(release.work / "made/tinygram.html")
    # Cargo's target folder of its own, because the package is a workspace of its own.
    environment["CARGO_TARGET_DIR"] = str(release.work / "python")
    environment["RUSTC_WRAPPER"] = str(PROJECT / "packaging/parts/rustc")
    # Ours are beside the package's manifest; maturin takes those of others from there, too, and documents from this folder.
    beside = []
    for file in [licences(release, inventory.PYTHON)[-1], made_of(release, "python")]:
        beside.append(pathlib.Path(shutil.copyfile(file, PROJECT / "python" / file.name)))
    data = PROJECT / "python/tinygram._native.data"
    for path, file in book.carried().items():
        place(file, data / "data/share/doc/tinygram" / path, 0o644)
    out = release.work / "wheels"
    shutil.rmtree(out, ignore_errors=True)
    try:
        run([maturin, "build", "--release", "--zig", "--compatibility", "manylinux2014", "--target", target, "--interpreter",
             sys.executable, "--manifest-path", PROJECT / "python/Cargo.toml", "--sbom-include", beside[1], "--out", out, "--locked"],
            env=environment)
    finally:
        for file in beside:
            file.unlink()
        shutil.rmtree(data)
    for made in out.glob("*.whl"):
        yield pathlib.Path(shutil.copy2(made, release.to / made.name))

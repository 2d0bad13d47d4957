"""The licences of what no list of dependencies has: Rust's standard library, C libraries, what compilers add."""

import fnmatch
import html
import pathlib
import re
import subprocess
import sys

from .build import Rust, ask
from .common import CannotBuild

DOCUMENTS = pathlib.Path("/usr/share/doc")


def rust(targets):
    """Returns the licences of the standard libraries that programs for these targets contain; each Rust's once."""
    found = {}
    for target in targets:
        try:
            rustc = Rust(target).rustc
        except CannotBuild:
            # Then no program is built for it, either.
            continue
        sysroot = pathlib.Path(ask(rustc, "--print", "sysroot"))
        found[sysroot] = f"Rust's standard library, of {ask(rustc, '--version')}", of_rust(sysroot)
    return [section(*it) for it in found.values()]


def of_rust(sysroot):
    own = sysroot / "share/doc/rust/COPYRIGHT-library.html"
    if own.exists():
        return plain(own.read_text())
    debian = sysroot / "share/doc/rust-web-src/copyright"
    library = sysroot / "lib/rustlib/src/rust/library"
    if not debian.exists():
        raise CannotBuild(f"it needs the licences of Rust's standard library ({own}, or Debian's rust-web-src)")
    return of_debian(debian, ["library/", *(f"vendor/{it.name}/" for it in library.glob("vendor/*"))])


def plain(page):
    """Returns the text of a page of notices, each licence's text once."""
    seen = set()
    parts = []
    for number, part in enumerate(re.split(r"<pre>(.*?)</pre>", re.sub(r"<(head|style)>.*?</\1>", "", page, flags=re.S), flags=re.S)):
        text = html.unescape(re.sub(r"<[^>]*>", "", part))
        if number % 2 == 0:
            parts += [line.strip() for line in text.splitlines() if line.strip()]
        elif "".join(text.split()) in seen:
            parts.append("(above)")
        else:
            seen.add("".join(text.split()))
            parts.append(text.strip("\n"))
    return "\n".join(parts) + "\n"


def of_debian(file, folders):
    """Returns what a package's copyright file says of these folders of its source, and the texts of the licences that it names."""
    paragraphs = re.split(r"\n[ \t]*\n", file.read_text())
    files = [it for it in paragraphs if it.startswith("Files:") and any(covers(pattern, folders) for pattern in patterns(it))]
    named = " ".join(re.search(r"^License:(.*)", it, re.M)[1].lower() for it in files)
    texts = [it for it in paragraphs if it.startswith("License:") and it.splitlines()[0].split(":")[1].strip().lower() in named]
    if not files or not texts:
        raise SystemExit(f"{file} says nothing of {', '.join(folders)}")
    return "\n\n".join([*(f"Files: {' '.join(it for it in patterns(text) if covers(it, folders))}\n{rest(text)}" for text in files), *texts]) + "\n"


def patterns(paragraph):
    return re.split(r"\n(?=\S)", paragraph)[0].split()[1:]


def rest(paragraph):
    return re.split(r"\n(?=\S)", paragraph, maxsplit=1)[1]


def covers(pattern, folders):
    """Whether a pattern of files names something in one of the folders."""
    return pattern == "*" or any(pattern.startswith(it) or fnmatch.fnmatch(it, pattern) for it in folders)


def section(title, text):
    return f"\n{'=' * 80}\n{title}\n\n{text.rstrip()}\n"


def of_zig(*pieces):
    """Returns the licences of what zig links into programs: of its own functions, and of these pieces."""
    where = [sys.executable, "-c", "import ziglang; print(ziglang.__path__[0])"]
    asked = subprocess.run(where, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    folder = pathlib.Path(asked.stdout.strip())
    files = {
        "compiler-rt": ("compiler_rt of Zig, functions that compilers call", "LICENSE"),
        "libunwind": ("libunwind of LLVM, by which threads are unwound", "lib/libunwind/LICENSE.TXT"),
        "musl": ("musl, the C library of the static programs", "lib/libc/musl/COPYRIGHT"),
        "glibc": ("glibc, with which the dynamic programs begin", "lib/libc/glibc/LICENSES"),
    }
    if asked.returncode != 0 or not all((folder / path).exists() for _, path in files.values()):
        raise CannotBuild("it needs the licences that ziglang has (pip install ziglang; run this with that Python)")
    return [section(title, (folder / path).read_text()) for title, path in (files[it] for it in ["compiler-rt", "libunwind", *pieces])]


def of_mingw():
    """Returns the licences of what MinGW links into the program for Windows."""
    mingw, gcc = DOCUMENTS / "mingw-w64-common/copyright", DOCUMENTS / "gcc-mingw-w64-base/copyright"
    if not mingw.exists() or not gcc.exists():
        raise CannotBuild(f"it needs the licences of MinGW's runtime ({mingw}, {gcc}: Debian's mingw-w64-common, gcc-mingw-w64-base)")
    exception = re.search(r"^GCC RUNTIME LIBRARY EXCEPTION\n.*?^requirements of the license of GCC\.\n", gcc.read_text(), re.M | re.S)
    return [section("mingw-w64, the program's beginning and its C library's functions", of_debian(mingw, ["mingw-w64-crt/"])),
            section("libgcc, functions that compilers call: GNU General Public License, version 3, with this exception", exception[0])]

"""Compiles the programs, and what they contain."""

import os
import pathlib
import shutil
import subprocess
import sys

from .common import PROJECT, CannotBuild, objcopy, output, run, stripped, tool

# By the names under which they are released: rustc's target, and the glibc that cargo-zigbuild links for.
TARGETS = {
    "x86_64-linux-static": ("x86_64-unknown-linux-musl", ""),
    "x86_64-linux-glibc": ("x86_64-unknown-linux-gnu", ".2.17"),
    "aarch64-linux-static": ("aarch64-unknown-linux-musl", ""),
    "aarch64-linux-glibc": ("aarch64-unknown-linux-gnu", ".2.17"),
    "x86_64-windows": ("x86_64-pc-windows-gnu", ""),
}
# What a first build from a checkout leaves out.
FEATURES = "mcp"
STUB = PROJECT / "packaging/gcc_s.map"


class Rust:
    """A Rust that can build for a target: with the target's standard library, or with its sources."""

    def __init__(self, target):
        known = [os.environ.get("RUSTC"), shutil.which("rustc"), "/usr/bin/rustc"]
        rusts = list(dict.fromkeys(it for it in known if it and os.access(it, os.X_OK)))
        for rustc in rusts:
            libraries = ask(rustc, "--print", "target-libdir", "--target", target)
            if any(pathlib.Path(libraries or "/nowhere").glob("libstd-*")):
                return self.take(rustc, from_source=False)
        for rustc in rusts:
            if (pathlib.Path(ask(rustc, "--print", "sysroot") or "/nowhere") / "lib/rustlib/src/rust/library/std").exists():
                return self.take(rustc, from_source=True)
        raise CannotBuild(f"no Rust here builds for {target} (rustup target add {target}; on Debian apt-get install rustc-web "
                          "cargo-web rust-web-src lld)")

    def take(self, rustc, from_source):
        self.rustc = rustc
        self.cargo = str(pathlib.Path(rustc).with_name("cargo"))
        self.from_source = from_source

    def options(self):
        """Cargo's."""
        return ["-Zbuild-std=std,panic_unwind"] if self.from_source else []

    def environment(self, release, flags=()):
        """The variables that make this Rust build the same octets in any folder."""
        home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
        sysroot = ask(self.rustc, "--print", "sysroot")
        mapped = {home / "registry/src": "/cargo", f"{sysroot}/lib/rustlib/src/rust": "/rustc", PROJECT: "/tinygram"}
        flags = [*flags, *(f"--remap-path-prefix={of}={to}" for of, to in mapped.items())]
        found = os.pathsep.join([str(pathlib.Path(sys.executable).parent), str(pathlib.Path(self.rustc).parent), os.environ["PATH"]])
        # A released compiler takes options that begin with Z only so.
        takes_z = self.from_source or any(flag.startswith("-Z") for flag in flags)
        more = {"RUSTC_BOOTSTRAP": "1"} if takes_z else {}
        return release.environment(
            **more, RUSTC=self.rustc, CARGO=self.cargo, PATH=found, CARGO_TARGET_DIR=str(release.work), CARGO_INCREMENTAL="0",
            CARGO_ENCODED_RUSTFLAGS="\x1f".join(flags))


def ask(rustc, *words):
    asked = subprocess.run([rustc, *words], capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else None


def zigbuild():
    if subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True).returncode != 0:
        raise CannotBuild("ziglang is missing (pip install ziglang cargo-zigbuild; run this with that Python)")
    return tool("cargo-zigbuild", package="pip install cargo-zigbuild")


def libraries(release, _):
    """Makes the library that `run` loads into programs, for both C libraries."""
    zig = zigbuild()
    folder = release.libraries()
    folder.mkdir(parents=True, exist_ok=True)
    unwinder = stub_of_the_unwinder(folder)
    # Of glibc's programs a thread that is cancelled unwinds through a hook: by libgcc_s, so the library takes that, too,
    # and no unwinder of its own. zig would link its own.
    gnu = [f"-Zpre-link-args={unwinder}"]
    for name, target, suffix, flags in [("glibc", "x86_64-unknown-linux-gnu", ".2.17", gnu),
                                        ("musl", "x86_64-unknown-linux-musl", "", ["-Ctarget-feature=-crt-static"])]:
        rust = Rust(target)
        run([zig, "rustc", *rust.options(), "--target", f"{target}{suffix}", "--profile", "dist", "--config",
             "profile.dist.strip=true", "--package", "tinygram-preload", "--lib", "--crate-type", "cdylib", "--locked", "--",
             "--cfg", "interpose"],
            env=rust.environment(release, [*flags, "-Clink-self-contained=no"]))
        made = folder / f"preload-{name}.so"
        run([objcopy(), "--strip-all", release.work / target / "dist/libtinygram_preload.so", made])
        check_library(made, name)
        yield made


def check_library(library, name):
    """Refuses a library that would bring an unwinder into every program, or needs what old systems lack."""
    symbols = output(["readelf", "--wide", "--dyn-syms", library]).splitlines()
    ours = [line.split()[-1] for line in symbols if " UND " not in line and line.strip()]
    if any(symbol.startswith("_Unwind") for symbol in ours):
        raise SystemExit(f"{library} defines an unwinder's functions, which would replace the program's")
    needed = [line.split("[")[1].rstrip("]") for line in output(["readelf", "--dynamic", library]).splitlines() if "(NEEDED)" in line]
    if name == "musl" and needed != ["libc.so"]:
        raise SystemExit(f"{library} needs {', '.join(needed)}; accepted is libc.so alone")
    unversioned = [line.split()[-1] for line in symbols if " GLOBAL " in line and " UND " in line and "@" not in line]
    if name == "glibc" and unversioned:
        raise SystemExit(f"{library} needs functions that glibc 2.17 lacks: {', '.join(unversioned)}")


def stub_of_the_unwinder(folder):
    """Makes a file that stands for libgcc_s when the library is linked, with the versions of its functions."""
    source, stub = folder / "gcc_s.c", folder / "libgcc_s.so.1"
    names = {word.rstrip(";") for word in STUB.read_text().split() if word.startswith("_Unwind")}
    source.write_text("".join(f"void {name}(void) {{}}\n" for name in sorted(names)))
    run([sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17", "-shared", "-nostdlib", "-fPIC",
         f"-Wl,-soname,{stub.name}", f"-Wl,--version-script={STUB}", source, "-o", stub])
    return stub


def page(release, _):
    """Makes tinygram.html, which the programs carry."""
    to = release.work / "made/tinygram.html"
    to.parent.mkdir(parents=True, exist_ok=True)
    made = subprocess.run([str(PROJECT / "page/build"), "--output", str(to)], cwd=PROJECT, env=release.environment())
    if made.returncode == 77:
        raise CannotBuild("no Rust here builds for wasm32-unknown-unknown")
    made.check_returncode()
    yield shutil.copy2(to, release.to / "tinygram.html")


def program(release, name):
    """Makes the program for a system; its line tables are a file of their own."""
    target, suffix = TARGETS[name]
    rust = Rust(target)
    flags = ["-Clink-self-contained=no"] if "musl" in target else []
    environment = rust.environment(release, flags)
    # `run` loads them into programs of x86_64; elsewhere it has none.
    if target.startswith("x86_64"):
        environment["TINYGRAM_LIBRARIES"] = str(release.libraries())
        if not (release.libraries() / "preload-musl.so").exists():
            raise CannotBuild("it needs libraries, which were not built")
    page = release.work / "made/tinygram.html"
    if page.exists():
        environment["TINYGRAM_PAGE"] = str(page)
    run([zigbuild(), "build", *rust.options(), "--target", f"{target}{suffix}", "--profile", release.profile,
         "--package", "tinygram", "--features", FEATURES, "--bin", "tinygram", "--locked"], env=environment)
    built = release.work / target / release.profile / "tinygram"
    to = release.work / "made" / name
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    stripped(built, to / "tinygram", to / f"tinygram-{release.version}-{name}.debug")
    yield to / "tinygram"

"""Where a program comes from: PyPI, npm, crates.io, Maven, Go's modules. Each has a lock file with checksums beside the entry,
or in its folder, and nothing of what comes runs while it comes, but for Maven's plugin that copies: of it the version alone is fixed."""
import hashlib, json, os, pathlib, shutil, subprocess, tempfile

PYTHON = "/usr/bin/python3"
COPYING = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"


class Missing(Exception):
    """What an entry needs and cannot be had here."""


def wheels(folder, lock, _here, wanted, locking):
    """A virtual environment's Python with the wheels of a lock file."""
    if locking:
        lock_wheels(wanted, lock)
    mark, locked = folder / "made-of", read(lock)
    if not mark.exists() or mark.read_text() != locked:
        run_all([[PYTHON, "-m", "venv", "--clear", folder],
                 [folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", lock],
                 ["chmod", "-R", "a+rX", folder]])
        mark.write_text(locked)
    return folder / "bin/python"


def lock_wheels(wanted, lock):
    """Writes which wheels PyPI gives for these versions and for what they need, with their checksums."""
    with tempfile.TemporaryDirectory() as scratch:
        report = f"{scratch}/report"
        run_all([[PYTHON, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--ignore-installed", "--dry-run", "--break-system-packages",
                  "--report", report, *wanted]])
        with open(report) as file:
            found = json.load(file)["install"]
    lines = [f"{one['metadata']['name']}=={one['metadata']['version']} --hash=sha256:{one['download_info']['archive_info']['hashes']['sha256']}\n" for one in found]
    lock.write_text("".join(sorted(lines)))


def modules(folder, lock, _here, wanted, locking):
    """A folder of npm's packages, whose install scripts do not run. The lock file is npm's own, without addresses."""
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
    package = json.dumps({"dependencies": dict(one.rsplit("@", 1) for one in wanted)})
    if locking:
        with tempfile.TemporaryDirectory() as scratch:
            pathlib.Path(scratch, "package.json").write_text(package)
            run_all([["npm", "install", "--package-lock-only", "--omit-lockfile-registry-resolved", *quiet[:-1], scratch]])
            shutil.copy(f"{scratch}/package-lock.json", lock)
    mark, locked = folder / "made-of", read(lock)
    if not mark.exists() or mark.read_text() != locked:
        (folder / "package.json").write_text(package)
        (folder / "package-lock.json").write_text(locked)
        run_all([["npm", "ci", *quiet], ["chmod", "-R", "a+rX", folder]])
        mark.write_text(locked)
    return folder / "node_modules"


def crates(folder, _lock, here, _wanted, _locking):
    """The program of a Cargo package, built from crates by their checksums (Cargo.lock) without a network, in a file system that it
    can only read but for its own folder: crates run code while they are built."""
    mark, locked = folder / "made-of", hash_of(here)
    program = folder / "target/release/atlas"
    if not mark.exists() or mark.read_text() != locked:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(here, folder)
        manifest = f"{folder}/Cargo.toml"
        alone = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", folder, folder, "--unshare-all", "--uid", "65534",
                 "--gid", "65534", "--cap-drop", "ALL", "--die-with-parent", "--setenv", "TMPDIR", folder, "--"]
        run_all([["cargo", "fetch", "--quiet", "--locked", "--manifest-path", manifest],
                 [*alone, "cargo", "build", "--quiet", "--release", "--locked", "--offline", "--manifest-path", manifest, "--target-dir", f"{folder}/target"],
                 ["chmod", "-R", "a+rX", folder]])
        mark.write_text(locked)
    return program


def jars(folder, lock, here, wanted, locking):
    """A class path of Maven's artifacts and of the entry's own source, compiled against them. The lock file has their checksums."""
    mark, libraries = folder / "made-of", folder / "lib"
    if locking or not mark.exists() or mark.read_text() != read(lock) + hash_of(here):
        shutil.rmtree(folder, ignore_errors=True)
        libraries.mkdir(parents=True)
        (folder / "pom.xml").write_text(POM.replace("{dependencies}", "".join(map(dependency, wanted))))
        run_all([["mvn", "--quiet", "--batch-mode", "--file", folder / "pom.xml", COPYING, f"-DoutputDirectory={libraries}",
                  "-DincludeScope=runtime"]])
        found = "".join(f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}\n" for jar in sorted(libraries.glob("*.jar")))
        if locking:
            lock.write_text(found)
        if found != read(lock):
            raise Missing(f"{lock.name} has other checksums than what Maven gives")
        run_all([["javac", "-proc:none", "-nowarn", "-d", folder / "classes", "-cp", f"{libraries}/*", *here.glob("*.java")], ["chmod", "-R", "a+rX", folder]])
        mark.write_text(found + hash_of(here))
    return f"{folder}/classes:{libraries}/*"


def dependency(coordinates):
    group, artifact, version = coordinates.split(":")
    return f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>atlas</groupId><artifactId>atlas</artifactId>
<version>1</version><dependencies>{dependencies}</dependencies></project>
"""


def go_module(folder, _lock, here, _wanted, _locking):
    """The program of a Go module, of modules by their checksums (go.sum); no code of theirs runs while it is built."""
    mark, locked = folder / "made-of", hash_of(here)
    program = folder / "program"
    if not mark.exists() or mark.read_text() != locked:
        folder.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["go", "build", "-mod=readonly", "-o", program, "."], capture_output=True, text=True, cwd=here,
                              env={**os.environ, "GOFLAGS": "", "CGO_ENABLED": "0"})
        if made.returncode:
            raise Missing(f"cannot be built: {last_line(made.stderr)}")
        mark.write_text(locked)
    return program


#: What an entry's `get` may name, the word that its commands have for it, and who gets it.
GET = {"pypi": ("python", wheels), "npm": ("modules", modules), "cargo": ("out", crates), "maven": ("classes", jars), "go": ("out", go_module)}


def read(lock):
    if not lock.exists():
        raise Missing(f"{lock.name} is not there; atlas/run --lock writes it")
    return lock.read_text()


def hash_of(folder):
    octets = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    return hashlib.sha256(octets).hexdigest()


def run_all(steps):
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{step[0]} failed: {last_line(done.stderr or done.stdout)}")


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1][:200]

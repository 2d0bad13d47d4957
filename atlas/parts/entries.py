"""Entries: what a file of atlas/entries says, and where its program comes from."""
import hashlib, json, os, pathlib, pwd, re, subprocess, tempfile, tomllib

ATLAS = pathlib.Path(__file__).resolve().parent.parent
#: Others' code runs as this user.
USER = "nobody"
PYTHON = "/usr/bin/python3"
FIELDS = {"name", "language", "side", "documented", "known", "get", "start", "peer", "option", "conversation"}


class Missing(Exception):
    """What an entry needs and cannot be had here."""


class Entry:
    def __init__(self, path):
        self.path, self.id, self.family = path, path.stem, path.parent.name
        with open(path, "rb") as file:
            said = tomllib.load(file)
        if strange := set(said) - FIELDS:
            raise SystemExit(f"{path}: {', '.join(sorted(strange))}: not a field of an entry; there are {', '.join(sorted(FIELDS))}")
        self.name, self.language, self.side = said["name"], said["language"], said["side"]
        self.documented, self.known = said["documented"], said.get("known", [])
        self.get, self.start, self.peer = said["get"], said["start"], said["peer"]
        self.option, self.conversations = said.get("option"), said["conversation"]
        self.here = path.with_suffix("")

    def install(self, cache, locking=False):
        """Puts the program into the cache, and returns the words that its commands may use, and its version. `locking` writes
        anew which wheels these are."""
        words = {"here": str(self.here), "python": PYTHON, "cache": str(cache)}
        for program in self.get.get("system", []):
            if not which(program):
                raise Missing(f"{program} is not installed (Debian: {self.get.get('debian', program)})")
        folder = cache / self.id
        if wanted := self.get.get("pypi"):
            lock = self.path.with_suffix(".lock")
            if locking:
                write_lock(wanted, lock)
            elif not lock.exists():
                raise Missing(f"{lock.name} is not there; atlas/run --lock writes it")
            words["python"] = str(venv(folder, lock) / "bin/python")
        if wanted := self.get.get("npm"):
            words["modules"] = str(packages(folder, wanted))
        if command := self.get.get("build"):
            folder.mkdir(parents=True, exist_ok=True)
            words["out"] = str(folder / "out")
            environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
            made = subprocess.run(filled(command, words), capture_output=True, text=True, cwd=self.here, env=environment)
            if made.returncode:
                raise Missing(f"cannot be built: {last_line(made.stderr)}")
        said = subprocess.run(filled(self.get["version"], words), capture_output=True, text=True)
        found = re.search(r"\d+(\.\d+)+[\w.+-]*|\d{2,}", said.stdout + said.stderr)
        if not found:
            raise Missing(f"its version is not said: {last_line(said.stderr)}")
        return words, found.group()


    def digest(self):
        """Of all that a row is made by: the entry's files, and the ends that speak to it."""
        files = [self.path, *sorted(self.here.rglob("*")), *sorted((ATLAS / "peers").glob("*.py")), *sorted((ATLAS / "parts").glob("*.py"))]
        octets = b"".join(file.read_bytes() for file in files if file.is_file())
        return hashlib.sha256(octets).hexdigest()[:16]


def read(only, family):
    """The entries that are wanted, by family and name."""
    entries = [Entry(path) for path in sorted((ATLAS / "entries").glob("*/*.toml"))]
    if strange := set(only or []) - {entry.id for entry in entries}:
        raise SystemExit(f"{', '.join(sorted(strange))}: no such entry; there are {', '.join(entry.id for entry in entries)}")
    return [entry for entry in entries if (not only or entry.id in only) and family in (None, entry.family)]


def filled(command, words):
    """A command with its {words} put in; what is not a word of ours stays."""
    for name, value in words.items():
        command = [part.replace("{" + name + "}", str(value)) for part in command]
    return command


def as_user(command):
    """The words that run a command as an ordinary user, who can gain no rights."""
    user = pwd.getpwnam(USER)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all",
            "--", *command]


def which(program):
    return subprocess.run(["which", program], stdout=subprocess.DEVNULL, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}).returncode == 0


def venv(folder, lock):
    """A virtual environment with the wheels of a lock file, by their checksums: no code of theirs runs while they are installed."""
    mark, wanted = folder / "made-of", lock.read_text()
    if not mark.exists() or mark.read_text() != wanted:
        run_all([[PYTHON, "-m", "venv", "--clear", folder],
                 [folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", lock],
                 ["chmod", "-R", "a+rX", folder]])
        mark.write_text(wanted)
    return folder


def write_lock(wanted, lock):
    """Writes which wheels PyPI gives for these versions and for what they need, with their checksums."""
    with tempfile.TemporaryDirectory() as scratch:
        report = f"{scratch}/report"
        run_all([[PYTHON, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--ignore-installed", "--dry-run", "--break-system-packages",
                  "--report", report, *wanted]])
        with open(report) as file:
            found = json.load(file)["install"]
    lines = [f"{one['metadata']['name']}=={one['metadata']['version']} --hash=sha256:{one['download_info']['archive_info']['hashes']['sha256']}\n" for one in found]
    lock.write_text("".join(sorted(lines)))


def packages(folder, wanted):
    """A folder with these packages of npm, whose install scripts do not run."""
    mark = folder / "made-of"
    if not mark.exists() or mark.read_text().split() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        run_all([["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, *wanted],
                 ["chmod", "-R", "a+rX", folder]])
        mark.write_text(" ".join(wanted))
    return folder / "node_modules"


def run_all(steps):
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{step[0]} failed: {last_line(done.stderr or done.stdout)}")


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1][:200]

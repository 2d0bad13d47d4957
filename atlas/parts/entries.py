"""Entries: what a file of atlas/entries says, and where its program comes from."""
import hashlib, os, pathlib, pwd, re, shutil, subprocess, tomllib

from . import registries
from .registries import PYTHON, Missing, last_line

ATLAS = pathlib.Path(__file__).resolve().parent.parent
#: Others' code runs as this user.
USER = "nobody"
FIELDS = {"name", "language", "side", "documented", "known", "get", "start", "peer", "behind", "option", "conversation"}


class Entry:
    def __init__(self, path):
        self.path, self.id, self.family = path, path.stem, path.parent.name
        with open(path, "rb") as file:
            said = tomllib.load(file)
        if strange := set(said) - FIELDS:
            raise SystemExit(f"{path}: {', '.join(sorted(strange))}: not a field of an entry; there are {', '.join(sorted(FIELDS))}")
        self.name, self.language, self.side = said["name"], said["language"], said["side"]
        self.documented, self.known = said["documented"], said.get("known", [])
        self.get, self.start, self.peer, self.behind = said["get"], said["start"], said["peer"], said.get("behind", [])
        self.option, self.conversations = said.get("option"), said["conversation"]
        self.here, self.pinned = path.with_suffix(""), None

    def pin(self, package):
        """Takes another version of a package of a registry than the entry says: PyPI's NAME==VERSION, npm's NAME@VERSION."""
        name = name_of(package)
        for registry in ["pypi", "npm"]:
            wanted = self.get.get(registry, [])
            if any(name_of(one) == name for one in wanted):
                self.get[registry] = [package if name_of(one) == name else one for one in wanted]
                self.pinned = package
                return
        raise SystemExit(f"{self.id}: it is made of no package {name} of PyPI's or npm's")

    def install(self, cache, locking=False):
        """Puts the program into the cache, and returns the words that its commands may use, and its version. `locking` writes
        anew which files of a registry these are."""
        words = {"here": str(self.here), "python": PYTHON, "cache": str(cache)}
        for program in self.get.get("system", []):
            if not which(program):
                raise Missing(f"{program} is not installed (Debian: {self.get.get('debian', program)})")
        folder, lock = cache / self.id, self.path.with_suffix(".lock")
        if self.pinned:
            folder = cache / re.sub(r"[^\w.-]", "_", f"{self.id}-{self.pinned}")
            lock, locking = folder.with_suffix(".lock"), True
        for registry, (word, get) in registries.GET.items():
            if wanted := self.get.get(registry):
                words[word] = str(get(folder, lock, self.here, wanted, locking))
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

    def packages(self):
        """The packages of Debian that its programs are of, with their versions."""
        paths = [found for program in self.get.get("system", []) if (found := path_of(program))]
        found = [package_of(os.path.realpath(path)) for path in paths]
        return sorted({one for one in found if one})

    def digest(self):
        """Of all that a row is made by: the entry's files and its lock, the end that speaks to it, and the runner."""
        peers = [ATLAS / "peers/loop.py", ATLAS / f"peers/speak_{self.peer}.py"]
        told = self.path.read_text()
        others = [folder for folder in sorted(self.path.parent.iterdir()) if folder.is_dir() and f"{{family}}/{folder.name}" in told]
        own = [file for folder in [self.here, *others] for file in sorted(folder.rglob("*"))]
        files = [self.path, self.path.with_suffix(".lock"), *own, *peers, ATLAS / "run", *sorted((ATLAS / "parts").glob("*.py"))]
        octets = b"".join(file.read_bytes() for file in files if file.is_file())
        return hashlib.sha256(octets).hexdigest()[:16]


def name_of(package):
    return re.split("==", package)[0] if "==" in package else package.rpartition("@")[0]


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


def path_of(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def which(program):
    return path_of(program) is not None


def package_of(path):
    """The package of Debian that a file is of, and its version; None where no package has it."""
    said = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
    name = said.stdout.split(":")[0]
    if said.returncode or not name:
        return None
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True)
    return f"{name} {version.stdout}"

"""Pinned releases from the package registries: fetched by their own clients, checked, kept and unpacked."""
import hashlib, os, shutil, subprocess, sys, zipfile

from .words import Unusable

#: Where Debian keeps the keys of its archive.
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def wheel(cache, project, version, sha256):
    """Returns the path of a wheel that Python's registry has: it holds the sources of pure Python as they are."""
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    return kept(cache, f"{project.replace('-', '_')}-{version}-py3-none-any.whl", sha256,
                lambda: run([*words, "--dest", cache, f"{project}=={version}"]))


def debian(cache, package, version, architecture, sha256):
    """Returns the path of a package of Debian unstable, by the mirror that this host's own sources name."""
    return kept(cache, f"{package}_{version}_{architecture}.deb", sha256,
                lambda: run(["apt-get", "download", "-q", f"{package}={version}"], cwd=cache,
                            env=os.environ | {"APT_CONFIG": unstable(cache)}))


def kept(cache, name, sha256, fetch):
    path = os.path.join(cache, name)
    if not os.path.exists(path):
        fetch()
    if not os.path.exists(path):
        raise Unusable(f"{name} did not come")
    with open(path, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != sha256:
        os.remove(path)
        raise Unusable(f"{name} has the checksum {found}, not {sha256}")
    return path


def unstable(cache):
    """Returns a configuration of APT with lists of its own, so that the host's stay as they are."""
    folder = os.path.join(cache, "apt")
    config, sources = os.path.join(folder, "apt.conf"), os.path.join(folder, "sources.list")
    if os.path.exists(config):
        return config
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)", "Created-By: Packages"]
    told = [line.split("|") for line in run(words).splitlines()]
    mirrors = [uri for origin, uri in told if origin == "Debian" and "security" not in uri]
    if not mirrors:
        raise Unusable("no Debian mirror is configured here, or apt-get update has not run yet")
    for part in ["lists/partial", "cache/archives/partial", "parts"]:
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    write(sources, f"deb [signed-by={KEYS}] {mirrors[0]} sid main\n")
    lines = [("Dir::State::Lists", "lists"), ("Dir::Cache", "cache"), ("Dir::Etc::SourceParts", "parts"),
             ("Dir::Etc::SourceList", "sources.list")]
    text = "".join(f'{name} "{os.path.join(folder, part)}";\n' for name, part in lines)
    write(config + ".new", text + 'APT::Sandbox::User "root";\n')
    run(["apt-get", "update", "-q"], env=os.environ | {"APT_CONFIG": config + ".new"})
    os.rename(config + ".new", config)
    return config


def unpacked(archive, folder):
    """Unpacks a wheel or a Debian package; no script of it runs."""
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
    else:
        run(["dpkg", "-x", archive, folder])


def patched(source, target, patch, strip):
    """Copies a folder and applies the patch to the copy; a patch that does not fit exactly is refused."""
    shutil.copytree(source, target, symlinks=True)
    run(["patch", f"-p{strip}", "--fuzz=0", "--no-backup-if-mismatch", "-d", target, "-i", patch])


def run(words, **rest):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **rest)
    if done.returncode:
        raise Unusable(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def write(path, text):
    with open(path, "w") as file:
        file.write(text)

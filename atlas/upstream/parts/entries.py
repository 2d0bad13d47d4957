"""The five projects: their pinned sources, how a release and its patched copy are made, and what starts them.

An entry is a server that ask.py asks, or a client that one of our servers answers. `build` fills `folder/release` and
`folder/patched`; `words` are the command in one of them. `CHATTY` is what the patch might make worse, with its name.
"""
import json, os, shutil

from . import fetch

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = os.path.join(HERE, "programs")
#: The system's own, which an ordinary user may start; the caller's may be in a home that is closed to others.
PYTHON = "/usr/bin/python3"


class Entry:
    is_server = False
    #: The server that answers a client.
    peer = "answer.py"
    #: Exchanges of the quiet rows and of each of the 32 connections.
    exchanges, under_load = 200, 100
    strip, inside = 1, "."

    def __init__(self, name):
        self.name, self.patch = name, os.path.join(HERE, f"{name}.patch")

    def build(self, cache, folder):
        release, target = os.path.join(folder, "release"), os.path.join(folder, "patched")
        os.makedirs(release)
        self.unpack(cache, release)
        shutil.copytree(release, target, symlinks=True)
        fetch.run(["patch", f"-p{self.strip}", "--fuzz=0", "--no-backup-if-mismatch", "-d",
                   os.path.join(target, self.inside), "-i", self.patch])
        for one in [release, target]:
            self.compile(one)

    def compile(self, folder):
        pass

    def peer_words(self, folder, address, port):
        """The command of the server that answers a client, where `folder` is the build that is measured."""
        return [PYTHON, os.path.join(PROGRAMS, self.peer), address, port]

    def environment(self, folder):
        return {}


class Uvicorn(Entry):
    version, is_server, peer = "uvicorn 0.54.0", True, None
    chatty = ("a response of 20 messages", "/pieces")
    plain = "/"
    needs = [("uvicorn", "0.54.0", "505bdb0f318731d45f1f712071fc781a8981f6847a31c902c9f5e652d4f67faf"),
             ("h11", "0.16.0", "63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86"),
             ("click", "8.5.1", "8bb5376d2006950386f8c6427613334a2acadc5f559cb80e638d00b4df957e37")]

    def unpack(self, cache, folder):
        for one in self.needs:
            fetch.unpacked(fetch.wheel(cache, *one), folder)

    def environment(self, folder):
        return {"PYTHONPATH": f"{folder}:{PROGRAMS}"}

    def words(self, folder, address, port):
        return [PYTHON, "-m", "uvicorn", "asgi:app", "--workers", "2", "--host", address, "--port", port,
                "--log-level", "warning", "--no-access-log"]


class Cpython(Entry):
    version, is_server, peer, strip, inside = "CPython 3.15.2", True, None, 2, "usr/lib/python3.15"
    chatty = ("a handler that writes 20 pieces", "/pieces")
    plain = "/"
    needs = [("python3.15-minimal", "3.15.2-1", "b3065172be908a9962bc5512090837e1cff0a5b79da0b7e58ed6fabd436e6f11"),
             ("libpython3.15-minimal", "3.15.2-1", "1cd6e6860993a912b4ec41c2262f9001c8911ed9e8740a2c79d1f94bc9088047"),
             ("libpython3.15-stdlib", "3.15.2-1", "fabb8a62a20704a57bfe80c009a8c846821c6632acf8f433fbf3442cae893e42"),
             ("libc6", "2.43-7", "5c71715c51103beb4fbba9fe9f8dff604af6610dfa71c70bff342f54a7860803")]

    def unpack(self, cache, folder):
        for package, version, sha256 in self.needs:
            fetch.unpacked(fetch.debian(cache, package, version, "amd64", sha256), folder)

    def words(self, folder, address, port):
        # With its own C library, since it may be newer than the host's.
        library = f"{folder}/usr/lib/x86_64-linux-gnu"
        return [f"{library}/ld-linux-x86-64.so.2", "--library-path", f"{library}:/usr/lib/x86_64-linux-gnu",
                f"{folder}/usr/bin/python3.15", "-B", os.path.join(PROGRAMS, "pages.py"), address, port]

    def environment(self, folder):
        return {"PYTHONHOME": f"{folder}/usr"}


class Paho(Entry):
    version, peer, strip = "paho-mqtt 2.2.0", "broker.py", 2
    chatty = ("20 readings in a row", "20")
    plain = "2"

    def unpack(self, cache, folder):
        sha256 = "3243630f7c2b05f71d1de8c6f59865eb04d3a59ae8c866e92377faed6753db4d"
        fetch.unpacked(fetch.wheel(cache, "paho-mqtt", "2.2.0", sha256), folder)

    def environment(self, folder):
        return {"PYTHONPATH": folder}

    def words(self, folder, *rest):
        return [PYTHON, os.path.join(PROGRAMS, "publish.py"), *rest]


class Nim(Entry):
    version, inside = "Nim 2.2.12", "usr/lib/nim"
    chatty = ("a body of 8 MiB, copied behind the headers", str(8 << 20))
    plain = "400"

    def unpack(self, cache, folder):
        sha256 = "f5c8ed5e2b98849817d9c903128e600219896b5b79f075b708eb6b6d6636225f"
        fetch.unpacked(fetch.debian(cache, "nim", "2.2.12-1", "amd64", sha256), folder)

    def compile(self, folder):
        fetch.run([f"{folder}/usr/bin/nim", "c", "-d:release", "--hints:off", f"--lib:{folder}/usr/lib/nim/lib",
                   f"--nimcache:{folder}/made", f"--out:{folder}/post", os.path.join(PROGRAMS, "post.nim")])

    def words(self, folder, *rest):
        return [f"{folder}/post", *rest]


class HyperUtil(Entry):
    version = "hyper-util 0.1.21"
    chatty = ("a body of 20 pieces, one by one", "20")
    plain = "2"

    def build(self, cache, folder):
        """Cargo checks the source against the checksum in Cargo.lock; the patched copy is built from where it lay."""
        release, target = os.path.join(folder, "release"), os.path.join(folder, "patched")
        shutil.copytree(os.path.join(PROGRAMS, "hyper"), release, ignore=shutil.ignore_patterns("target"))
        shutil.copytree(release, target)
        words = ["cargo", "metadata", "--locked", "--format-version", "1"]
        known = json.loads(fetch.run(words, cwd=release))["packages"]
        [manifest] = [one["manifest_path"] for one in known if one["name"] == "hyper-util"]
        fetch.patched(os.path.dirname(manifest), os.path.join(target, "hyper-util"), self.patch, 1)
        build = ["cargo", "build", "--release", "--target-dir", os.path.join(cache, "cargo")]
        replaced = ["--config", f'patch.crates-io.hyper-util.path="{target}/hyper-util"']
        for one, more in [(release, ["--locked"]), (target, replaced)]:
            fetch.run([*build, *more], cwd=one)
            shutil.copy(os.path.join(cache, "cargo", "release", "hyper-posts"), one)

    def words(self, folder, *rest):
        return [f"{folder}/hyper-posts", *rest]


class HyperUtilHttp2(HyperUtil):
    """The same client with HTTP/2, and a server of HTTP/2 with the option on, which is the release's in both builds."""
    version = "hyper-util 0.1.21, HTTP/2"

    def __init__(self, name):
        super().__init__("hyper-util")
        self.name = name

    def words(self, folder, *rest):
        return [f"{folder}/hyper-posts", *rest, "http2"]

    def peer_words(self, folder, address, port):
        return [f"{os.path.dirname(folder)}/release/hyper-posts", "serve", address, port]


ENTRIES = {"uvicorn": Uvicorn, "cpython": Cpython, "paho-mqtt": Paho, "nim": Nim, "hyper-util": HyperUtil, "hyper-util-http2": HyperUtilHttp2}

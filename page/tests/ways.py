"""What all tests work with: captures, the command line, the module in node."""

import base64
import gzip
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parent.parent
PROJECT = PAGE.parent
CORPUS = PROJECT / "corpus"
SHARED = PROJECT.parent / "shared/captures"


def check_pages():
    """The browser of crates/cli/tests/pages/check-pages."""
    loader = importlib.machinery.SourceFileLoader("check_pages", str(PROJECT / "crates/cli/tests/pages/check-pages"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_pages", loader))
    loader.exec_module(module)
    return module


def captures():
    """Every capture there is, as (name, path)."""
    found = [*sorted(CORPUS.rglob("*.pcap*")), *sorted(SHARED.rglob("*.pcap*"))]
    return [(path.name, path) for path in found]


def damaged(folder):
    """Captures that cannot be read, or not to their end."""
    whole = (CORPUS / "wwr-client.pcap").read_bytes()
    made = {
        "empty.pcap": b"",
        "three.pcap": b"\xd4\xc3\xb2",
        "text.pcap": b"This is no capture at all.",
        "cut-in-header.pcap": whole[:20],
        "cut-in-frame.pcap": whole[:-7],
        "only-header.pcap": whole[:24],
        "huge-length.pcap": whole[:2000] + b"\xff" * 40 + whole[2000:],
        "cut.pcap.gz": gzip.compress(whole, mtime=0)[:-300],
        "broken.pcap.gz": gzip.compress(whole, mtime=0)[:200] + b"\0" * 200,
        "snoop.pcap": b"snoop\0\0\0" + bytes(40),
        "window-of-2-tebioctets.pcap.zst": zstd(whole, 31),
        "window-of-64-mebioctets.pcap.zst": zstd(whole, 16),
    }
    for name, octets in made.items():
        (folder / name).write_bytes(octets)
    return [(name, folder / name) for name in made]


def zstd(octets, exponent):
    """A frame of zstd that is not packed, and asks for a window of 2^(10 + exponent) octets (RFC 8878, 3.1.1.1.2)."""
    return b"\x28\xb5\x2f\xfd\x00" + bytes([exponent << 3]) + (len(octets) << 3 | 1).to_bytes(3, "little") + octets


class CommandLine:
    """`tinygram diagnose`, in a folder where a capture has the name that it has on the page."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def diagnose(self, names, *flags):
        done = subprocess.run([self.program, "diagnose", *flags, "--", *names], cwd=self.folder, capture_output=True)
        return done.returncode, done.stdout, done.stderr.decode()


def linked(folder, path, name):
    """Gives a file another name."""
    link = folder / name
    link.unlink(missing_ok=True)
    link.symlink_to(path.resolve())
    return link


class Module:
    """The module, in node."""

    def __init__(self, wasm):
        self.wasm = wasm

    def answers(self, requests):
        lines = "\n".join(json.dumps(it) for it in requests)
        done = subprocess.run(["node", str(PAGE / "module.mjs"), str(self.wasm)], input=lines, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stderr[-2000:])
        return [json.loads(line) for line in done.stdout.splitlines()]


def module_of(page):
    """Takes the module out of a page."""
    packed = re.search(r'id="module">([^<]*)<', page.read_text()).group(1)
    wasm = pathlib.Path(tempfile.mkdtemp()) / "tinygram.wasm"
    wasm.write_bytes(gzip.decompress(base64.b64decode(packed)))
    return wasm


def same(ours, theirs, of):
    if ours == theirs:
        return
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    raise AssertionError(f"{of}: differs at {at}: page {ours[at - 60:at + 60]!r}, command line {theirs[at - 60:at + 60]!r}")

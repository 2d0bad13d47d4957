"""Tests of the module in node: what it reads, says and writes is what `tinygram diagnose` does."""

import base64
import json
import re
import shutil
import subprocess

import traffic
from ways import CORPUS, captures, damaged, linked, same, zstd

def module_writes_what_the_command_line_writes(it):
    """JSON, CSV and the annotated copy of every capture, octet for octet."""
    all_captures = captures()
    assert len(all_captures) > 100, len(all_captures)
    asked = [{"names": [n], "paths": [str(p)], "ask": ["json", "csv", "annotated"]} for n, p in all_captures]
    for (name, path), page in zip(all_captures, it.module.answers(asked)):
        linked(it.folder, path, name)
        assert page["complaint"] == "", page["complaint"]
        copy = it.folder / "copy.pcapng"
        _, out, _ = it.command_line.diagnose([name], "--json", "--annotate", "copy.pcapng")
        same(page["json"].encode(), out, f"JSON of {name}")
        same(base64.b64decode(page["annotated"]), copy.read_bytes(), f"copy of {name}")
        same(page["csv"].encode(), it.command_line.diagnose([name], "--format", "csv")[1], f"CSV of {name}")
    return f"{len(all_captures)} captures"


def module_shows_the_page_of_the_command_line(it):
    """The report of every capture, apart from the line that says what made it."""
    chosen = captures()
    asked = [{"names": [n], "paths": [str(p)], "ask": ["html"]} for n, p in chosen]
    footer = re.compile(r"<footer>.*?</footer>", re.S)
    for (name, path), page in zip(chosen, it.module.answers(asked)):
        linked(it.folder, path, name)
        it.command_line.diagnose([name], "--html", "page.html")
        same(footer.sub("", page["html"]), footer.sub("", (it.folder / "page.html").read_text()), f"page of {name}")
    return f"{len(chosen)} captures"


def module_says_of_damage_what_the_command_line_says(it):
    made = damaged(it.folder)
    asked = [{"names": [n], "paths": [str(p)], "ask": ["json"]} for n, p in made]
    for (name, _), page in zip(made, it.module.answers(asked)):
        code, out, said = it.command_line.diagnose([name], "--json")
        ours = [f"tinygram: {it}" for it in page["unread"]] + page["remarks"]
        same("".join(f"{line}\n" for line in ours), said, name)
        if page["captures"]:
            same(page["json"].encode(), out, f"JSON of {name}")
        else:
            assert (code, out) == (2, b""), (name, code)
    return f"{len(made)} damaged captures"


def module_reads_several_captures_and_rings_as_one_does(it):
    names = ["wwr-client.pcap", "flood-nodelay.pcap", "clean-bulk.pcap"]
    whole = (CORPUS / "wwr-many-connections.pcap").read_bytes()
    frames, at = [], 24
    while at < len(whole):
        length = 16 + int.from_bytes(whole[at + 8:at + 12], "little")
        frames.append(whole[at:at + length])
        at += length
    ring = [f"ring_0000{number + 1}_2026.pcap" for number in range(3)]
    third = len(frames) // 3 + 1
    for number, name in enumerate(ring):
        (it.folder / name).write_bytes(whole[:24] + b"".join(frames[number * third:(number + 1) * third]))
    for name in names:
        linked(it.folder, CORPUS / name, name)
    for chosen in [names, ring, [*names, *ring]]:
        [page] = it.module.answers([{"names": chosen, "paths": [str(it.folder / n) for n in chosen], "ask": ["json"]}])
        same(page["json"].encode(), it.command_line.diagnose(chosen, "--json")[1], str(chosen))


def module_tells_the_story_that_the_command_line_tells(it):
    """The first stall of every capture, as `diagnose --explain` tells it."""
    chosen = captures()
    asked = [{"names": [n], "paths": [str(p)], "ask": ["story"]} for n, p in chosen]
    told = 0
    for (name, path), page in zip(chosen, it.module.answers(asked)):
        if page["story"] is None:
            continue
        linked(it.folder, path, name)
        _, out, _ = it.command_line.diagnose([name], "--explain", str(page["story"]["frame"]))
        story = page["story"]
        same(story["text"], out.decode(), f"story of {name}")
        # The same in steps: every check that was asked, and the segments between which the stall was.
        answers = [one["said"] for one in story["checks"] if not one["passed"]]
        assert all(said in story["text"] for said in answers), (name, answers)
        frames = [one["frame"] for one in story["picture"]["frames"]]
        assert story["frame"] in frames and frames == sorted(frames), (name, frames)
        [held] = story["picture"]["held"]
        assert 0 <= held["from"] < held["to"] <= story["picture"]["ended"], (name, held)
        picture = story["picture"]
        assert picture["numbers"] == [frames[0], frames[-1]] and picture["at_s"] >= 0, (name, picture["numbers"])
        assert story["happened"] and story["rule"], name
        told += 1
    assert told > 20, told
    return f"{told} stories"


def module_stops_where_it_is_told(it):
    path = CORPUS / "flood-nodelay.pcap"
    asked = {"names": ["f.pcap"], "paths": [str(path)], "ask": ["json"], "frames": 10, "stopAfter": 3}
    [page] = it.module.answers([asked])
    assert json.loads(page["json"])["summary"]["frames"] == 40, page["frames"]
    assert page["remarks"] == ["f.pcap was stopped after frame 40; the report covers the frames before"], page["remarks"]


def module_needs_little_memory_for_a_bomb(it):
    """Half a gigabyte of empty frames behind a capture, packed into a few megabytes or less."""
    whole = (CORPUS / "wwr-client.pcap").read_bytes()
    # Frames of no octets, which the format allows.
    empty = (whole[24:32] + bytes(8)) * 65536
    plain = it.folder / "bomb.pcap"
    with open(plain, "wb") as out:
        out.write(whole)
        for _ in range(512):
            out.write(empty)
    said = []
    for ending, packer in {"gz": ["gzip", "-1kf"], "zst": ["zstd", "-1qkf"]}.items():
        if shutil.which(packer[0]) is None:
            said.append(f"{ending} not tried: no {packer[0]} here")
            continue
        subprocess.run([*packer, str(plain)], check=True)
        bomb = it.folder / f"bomb.pcap.{ending}"
        [page] = it.module.answers([{"names": [bomb.name], "paths": [str(bomb)], "ask": ["json"], "frames": 1000000}])
        assert page["frames"] > 33_000_000, page["frames"]
        assert page["memory"] < 100e6, page["memory"]
        said.append(f"{ending}: {bomb.stat().st_size // 1000} kB, {page['frames']} frames, {page['memory'] / 1e6:.1f} MB of memory")
        bomb.unlink()
    plain.unlink()
    return "; ".join(said)


def module_keeps_no_more_than_a_window_of_zstd(it):
    """A few kilobytes become 130 MB of a repeated octet, in a frame whose window has 64 MiB."""
    whole = (CORPUS / "wwr-client.pcap").read_bytes()
    repeated = (131072 << 3 | 2).to_bytes(3, "little") + b"\0"
    bomb = it.folder / "window.pcap.zst"
    octets = bytearray(zstd(whole, 16) + repeated * 1000)
    octets[6] &= 0xFE  # the first block is not the last
    octets[-4] |= 1
    bomb.write_bytes(octets)
    [page] = it.module.answers([{"names": [bomb.name], "paths": [str(bomb)], "ask": ["json"], "frames": 1000000}])
    assert page["frames"] > 8_000_000 and page["unread"] == page["remarks"] == [], (page["frames"], page["unread"], page["remarks"])
    assert page["memory"] < 300e6, page["memory"]
    return f"{len(octets) // 1000} kB, {page['frames']} frames, {page['memory'] / 1e6:.0f} MB of memory"


def module_reads_a_sparse_file_beyond_4_gib(it):
    """Offsets have 64 bits although the module's addresses have 32."""
    path = it.folder / "sparse.pcap"
    if not traffic.write_sparse(path, CORPUS / "wwr-client.pcap", 5 << 30):
        path.unlink()
        return "not tried: this file system keeps no holes"
    [page] = it.module.answers([{"names": ["sparse.pcap"], "paths": [str(path)], "ask": ["json"]}])
    size = path.stat().st_size
    same(page["json"].encode(), it.command_line.diagnose(["sparse.pcap"], "--json")[1], "sparse.pcap")
    path.unlink()
    assert page["memory"] < 300e6, page["memory"]
    rate = size / page["milliseconds"] / 1e3
    return f"{size / 2**30:.2f} GiB, {page['memory'] // 1000000} MB of memory, {rate:.0f} MB/s"

"""Tests of "Play": what the module computes is what `tinygram naglemark` computes, and the page shows it."""

import json
import random
import re
import subprocess

from looks import PALE

SETTINGS = 200
SEED = 36
LINE = re.compile(
    r"(\d+):(\d+):(\d+)\.(\d+) IP (\S+)\.(\d+) > \S+: Flags \[(\S+)\],(?: seq (\d+)(?::(\d+))?,)?(?: ack (\d+),)? win \d+.*length (\d+)")
SERVER = "192.0.2.1"


def drawn(dice, lists):
    """A setting of the paper's hosts, as the module takes it."""
    names = [it["name"] for it in lists["policies"]]
    acks = [it["name"] for it in lists["ack_policies"]]
    step = dice.choice([1, 7, 100, 999])
    first = dice.randint(1, 60_000)
    transfers = dice.randint(2, 25)
    medium = dice.choice(["ethernet", "ethernet-full-duplex", "fddi", "point-to-point"])
    infer = dice.random() < 0.2
    return {
        "policy": dice.choice(names), "model": dice.choice(["fitted", "literal"]), "medium": medium,
        "rate": dice.choice([None, 1_000_000, 10_000_000_000]) if medium == "point-to-point" else None,
        "mss": dice.choice([None, 536, 1448, 4312, 8960]), "infer": infer,
        "ack_policy": None if infer else dice.choice([None, None, *acks]),
        "ack_timer": dice.choice([None, {"cyclic": 200_000}, {"per-connection": 40_000}, {"cyclic": 55_000}]),
        "app_buffer": dice.choice([100, 1000, 1460, 4096, 8192, 32_768, 131_072]),
        "socket_buffer": dice.choice([8192, 16_384, 65_536, 131_072]),
        "receive_buffer": dice.choice([None, None, 16_384, 65_535]),
        "trial": dice.choice("Ss"), "lengths": {"from": first, "to": first + step * (transfers - 1), "step": step},
        "rtt": dice.choice([0, 0, 1500, 80_000]), "loss": dice.choice([0, 0, 0.01, 0.05]),
        "multiplier": dice.choice([2, 3, 4]), "seed": dice.randint(1, 10_000),
    }


def flags(it):
    """The same setting as flags of `tinygram naglemark`."""
    lengths = it["lengths"]
    said = {
        "policy": it["policy"], "model": it["model"], "medium": it["medium"], "rate": it["rate"], "mss": it["mss"],
        "ack-policy": it["ack_policy"], "app-buffer": it["app_buffer"], "socket-buffer": it["socket_buffer"],
        "receive-buffer": it["receive_buffer"], "trial": it["trial"], "rtt": f"{it['rtt']}us", "loss": f"{it['loss'] * 100}%",
        "multiplier": it["multiplier"], "seed": it["seed"], "repetitions": 1,
        "lengths": f"{lengths['from']}..{lengths['to']}/{lengths['step']}" if lengths["to"] > lengths["from"] else lengths["from"],
    }
    if it["ack_timer"]:
        [(kind, micros)] = it["ack_timer"].items()
        said["ack-timer"] = f"{kind}:{micros}us"
    given = [f"--{name}={value}" for name, value in said.items() if value is not None]
    return [*given, *(["--infer"] if it["infer"] else [])]


def traced(text):
    """The segments of a trace: microseconds, whether the server sent it, seq, length, ack."""
    seen = []
    for line in text.splitlines():
        hours, minutes, seconds, micros, source, _, _, seq, _, ack, length = LINE.match(line).groups()
        at = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1_000_000 + int(micros)
        seen.append((at, source == SERVER, seq and int(seq), int(length), int(ack or 0)))
    return seen


def tapped(shown):
    """The segments of a transfer as a tap at the server sees them, in the form of a trace."""
    seen = []
    for it in shown["frames"]:
        is_server = it["from"] == 1
        at = it["left"] if is_server else it["arrived"]
        if at is not None:
            seen.append(((shown["began_ns"] + at) / 1000, is_server, it["seq"], it["len"], it["ack"]))
    return sorted(seen, key=lambda one: one[0])


def alike(ours, theirs):
    """Whether two lists of segments are the same, apart from where times and numbers begin, to a microsecond."""
    if len(ours) != len(theirs):
        return False
    numbers = {}
    for our, their in zip(ours, theirs):
        same_time = abs((our[0] - ours[0][0]) - (their[0] - theirs[0][0])) <= 1.001
        if not same_time or our[1] != their[1] or our[3] != their[3]:
            return False
        for kind, place in [("ack", 4), *([("seq", 2)] if our[3] else [])]:
            apart = our[place] - their[place]
            if numbers.setdefault((kind, our[1]), apart) != apart:
                return False
    return True


def module_plays_what_naglemark_measures(it):
    """Scores, segments and traces of random settings."""
    [lists] = it.module.answers([{"question": {"ask": "lists"}}])
    dice = random.Random(SEED)
    settings = [drawn(dice, lists) for _ in range(SETTINGS)]
    last = [(s["lengths"]["to"] - s["lengths"]["from"]) // s["lengths"]["step"] for s in settings]
    asked = [{"question": {"ask": "sweep", **setting}} for setting in settings]
    asked += [{"question": {"ask": "exchange", "setting": setting, "transfer": at}} for setting, at in zip(settings, last)]
    answers = it.module.answers(asked)
    delayed = segments = 0
    for setting, sweep, shown in zip(settings, answers, answers[SETTINGS:]):
        line = [str(it.command_line.program), "naglemark", *flags(setting), "--format", "json", "--trace", "trace.txt"]
        done = subprocess.run(line, cwd=it.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stderr)
        [cell] = json.loads(done.stdout)["cells"]
        ours = sweep["score"]
        assert {name: cell[name] for name in ours} == ours, (line, cell, ours)
        trace = traced((it.folder / "trace.txt").read_text())
        tap = tapped(shown)
        assert alike(tap, trace[-len(tap):]), (line, tap, trace[-len(tap):])
        delayed += shown["is_delayed"]
        segments += len(tap)
    return f"{SETTINGS} settings, {delayed} delayed transfers, {segments} segments"


def module_refuses_what_it_does_not_know(it):
    wrong = [
        ({"ask": "sweep", "policy": "nonsense"}, "there is no policy nonsense"),
        ({"ask": "sweep", "mss": 1}, "mss is 1 (accepted: 64 to 65495)"),
        ({"ask": "sweep", "loss": 0.9}, "loss is 0.9 (accepted: 0 to 0.3)"),
        ({"ask": "sweep", "lengths": {"from": 9, "to": 3, "step": 1}}, "lengths.from is 9 (accepted: 1 to 3)"),
        ({"ask": "exchange", "setting": {}, "transfer": 1000}, "transfer is 1000 (accepted: 0 to 999)"),
        ({"ask": "limit", "is_fast": True, "limit": 1, "tick_ms": 500, "phase_ms": 0}, "tick_ms is 500 (accepted: 10 to 390)"),
    ]
    for (question, said), answer in zip(wrong, it.module.answers([{"question": question} for question, _ in wrong])):
        assert answer == {"error": said}, (question, answer)


def module_tells_the_papers_cases(it):
    """What the chapters say at their beginning is what the papers' experiments give."""
    octet = {"medium": "fddi", "app_buffer": 4096, "lengths": {"from": 12289, "to": 12289, "step": 1, "transfers": 5},
             "ack_timer": {"cyclic": 200_000}, "policy": "msmv"}
    plain, inferring, ways, dead, free, odd, even, limit = it.module.answers([{"question": question} for question in [
        {"ask": "exchange", "setting": octet, "transfer": 4},
        {"ask": "exchange", "setting": {**octet, "infer": True}, "transfer": 4},
        {"ask": "retrieval", "seed": 1, "way": None},
        {"ask": "deadlock", "send_buffer": 16384, "receive_buffer": 32768, "policy": "nagle", "phase": 20000, "is_watched": True},
        {"ask": "deadlock", "send_buffer": 16384, "receive_buffer": 32768, "policy": "off", "phase": 20000, "is_watched": False},
        {"ask": "parity", "policy": "strict-nagle", "file": 1500}, {"ask": "parity", "policy": "strict-nagle", "file": 3000},
        {"ask": "limit", "is_fast": False, "limit": 1460, "tick_ms": 200, "phase_ms": 54},
    ]])
    sizes = lambda run: [one["len"] for one in run["frames"] if one["from"] == 1 and one["len"]]
    # Mogul & Minshall, section 9.
    assert sizes(plain) == sizes(inferring) == [4096, 4312, 3880, 1], sizes(plain)
    assert not plain["is_delayed"] and inferring["is_delayed"]
    # Heidemann's abstract: fourteen times.
    assert round(ways[1]["mean_ms"] / ways[0]["mean_ms"]) == 14, ways
    # Moldeklev & Gunningberg, section 1: less than 3 % of the normal throughput.
    assert dead["mbit_per_s"] / free["mbit_per_s"] < 0.03, (dead["mbit_per_s"], free["mbit_per_s"])
    # Doupnik, section 1.4.
    assert odd["full_segments"] % 2 == 1 and odd["elapsed_ns"] > 50e6, odd["elapsed_ns"]
    assert even["full_segments"] % 2 == 0 and even["elapsed_ns"] < 50e6, even["elapsed_ns"]
    # Davids, trace 1: 654 ms and an overhead of 162 %.
    assert round(limit["sending_ms"]) == 654 and round(limit["overhead_percent"]) == 162, limit["sending_ms"]


# The page in a browser

DRAWN = "[...document.querySelectorAll('.chapter')].every((it) => it.querySelectorAll('svg.conversation .future').length === 2)"


def page_plays_every_chapter(it):
    """Each figure is drawn when the reader comes to it, says what happens, and asks nobody."""
    it.tab.open("#play")
    chapters = it.tab.browser.evaluate("[...document.querySelectorAll('.chapter')].map((it) => it.id)")
    assert len(chapters) == 11, chapters
    for chapter in chapters:
        it.tab.browser.evaluate(f"document.getElementById('{chapter}').scrollIntoView()")
        it.tab.until(f"document.querySelectorAll('#{chapter} svg.conversation .future').length === 2", 120)
        told = it.tab.browser.evaluate(f"[...document.querySelectorAll('#{chapter} .result')].map((it) => it.textContent)")
        assert all(re.search(r"\d", text) for text in told), (chapter, told)
        spoken = it.tab.browser.evaluate(f"[...document.querySelectorAll('#{chapter} svg.conversation')].map((it) => it.ariaLabel)")
        assert all("segment" in text for text in spoken), (chapter, spoken)
    it.tab.until("[...document.querySelectorAll('[data-says]')].every((it) => /\\d/.test(it.textContent))", 120)
    assert it.tab.browser.evaluate("document.querySelectorAll('.refused').length") == 0
    it.tab.until("[...document.querySelectorAll('.plane button')].every((it) => it.textContent !== '')", 120)
    assert it.tab.requests() == [] and it.tab.complaints() == [], it.tab.complaints()
    return f"{len(chapters)} chapters"


def page_has_an_address_for_each_setting(it):
    """An address gives a figure its values; a move changes the address; what an address cannot mean is left alone."""
    it.tab.open("#play/today?length=500&rtt=1000&a=cork&nonsense=1&loss=x")
    it.tab.until("document.querySelectorAll('#chapter-today svg.conversation .future').length === 2", 120)
    shown = "[...document.querySelectorAll('#chapter-today .slider output')].slice(0, 3).map((it) => it.textContent)"
    assert it.tab.browser.evaluate(shown) == ["500 octets", "200 octets", "1.00 ms"], it.tab.browser.evaluate(shown)
    assert it.tab.browser.evaluate("document.querySelector('#chapter-today select').value") == "cork"
    # The text speaks of the rule that is chosen.
    it.tab.until("document.querySelector('#chapter-today [data-rule=a]').textContent === 'CORK'")
    before = it.tab.browser.evaluate("document.querySelector('#chapter-today .result').textContent")
    it.tab.browser.evaluate("document.querySelector('#chapter-today .slider input').focus()")
    for kind in ["rawKeyDown", "keyUp"]:
        it.tab.browser.ask("Input.dispatchKeyEvent", type=kind, key="End", code="End", windowsVirtualKeyCode=35)
    it.tab.until("location.hash.includes('length=6000')")
    it.tab.until(f"document.querySelector('#chapter-today .result').textContent !== {json.dumps(before)}")
    it.tab.browser.evaluate("[...document.querySelectorAll('#chapter-today .back')].at(-1).click()")
    it.tab.until("location.hash === '#play/today'")
    assert it.tab.complaints() == [], it.tab.complaints()


def page_plays_the_game(it):
    """A game that is played through: what was pressed, and the rules on the same writes."""
    it.tab.open("#sender?seed=7")
    # A minute is too long for a test: the clock of the page runs faster.
    it.tab.browser.evaluate("""(() => {
      const now = performance.now.bind(performance);
      const began = now();
      performance.now = () => began + (now() - began) * 20;
      const frame = requestAnimationFrame;
      window.requestAnimationFrame = (step) => frame(() => step(performance.now()));
    })()""")
    it.tab.browser.evaluate("document.querySelector('[data-game=start]').click()")
    press = "new Promise((done) => setTimeout(() => { document.querySelector('[data-game=send]').click(); done(); }, 5))"
    for _ in range(40):
        it.tab.browser.evaluate(press)
    it.tab.until("document.querySelectorAll('.score-table tbody tr').length === 6", 120)
    rows = it.tab.browser.evaluate("[...document.querySelectorAll('.score-table tbody tr')].map((it) => [...it.children].map((one) => one.textContent))")
    by_name = {name: (int(segments), float(times), float(late.split()[0])) for name, segments, times, late in rows}
    assert by_name["who knows the future"][1:] == (1.0, 0.0), by_name  # both bounds
    assert by_name["TCP_NODELAY"][2] == 0.0 and by_name["TCP_NODELAY"][1] > 1, by_name
    assert by_name["Nagle"][2] > 1, by_name
    assert by_name["you"][2] < 3000, by_name  # what is held at the end leaves with the game
    pale = it.tab.browser.evaluate(PALE)
    assert pale == [], pale
    assert it.tab.complaints() == [], it.tab.complaints()
    return str(by_name)

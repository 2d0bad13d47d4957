"""Tests of the page in Chromium: names and captures that somebody made to do harm, and that nothing can leave."""

import http.server
import json
import re
import struct
import threading
import time

from ways import CORPUS, linked, same

HOSTILE = [
    "</script><script>document.title='hacked'</script>.pcap",
    "<img src=x onerror=\"document.title='hacked'\">.pcap",
    "javascript:document.title='hacked'",
    "\"><svg onload=document.title='hacked'>.pcap",
    "=HYPERLINK(\"http:..evil\").pcap",
    "\u202efdp.pcap",
]
# What stands in every text of a hostile capture.
SCRIPT = b"</script><script>document.title='hacked'</script><img src=x onerror=\"top.document.title='hacked'\">"


def block(kind, body):
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def hostile_capture():
    """A capture of stalls whose comments, names of hosts and interfaces, and payloads are HTML with scripts."""
    whole = (CORPUS / "wwr-client.pcap").read_bytes()
    end = option(0, b"")
    said = b"".join(option(code, SCRIPT) for code in [1, 2, 3, 4]) + end
    octets = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + said)
    octets += block(1, struct.pack("<HHI", int.from_bytes(whole[20:24], "little"), 0, 0) + said)
    addresses = {it for at in frames_of(whole) for it in [at[26:30], at[30:34]]}
    names = b"".join(option(1, address + b"<img src=x onerror=alert(1)>.example\0") for address in sorted(addresses))
    octets += block(4, names + struct.pack("<HH", 0, 0) + said)
    at = 24
    while at < len(whole):
        seconds, micros, kept, length = struct.unpack_from("<IIII", whole, at)
        frame = bytearray(whole[at + 16:at + 16 + kept])
        payload = 14 + 20 + (frame[46] >> 4) * 4
        frame[payload:] = (b"GET /" + SCRIPT * 50)[:len(frame) - payload]
        stamp = seconds * 1_000_000 + micros
        body = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, kept, length) + frame + bytes(-kept % 4)
        octets += block(6, body + option(1, SCRIPT) + end)
        at += 16 + kept
    return octets + block(0xBAD, struct.pack("<I", 32_473) + SCRIPT)


def frames_of(whole):
    at = 24
    while at < len(whole):
        kept = int.from_bytes(whole[at + 8:at + 12], "little")
        yield whole[at + 16:at + 16 + kept]
        at += 16 + kept


def page_takes_hostile_captures_as_captures(it):
    """Scripts in comments, in names of hosts, in payloads and in unknown blocks stay text, on the page and in what it saves."""
    path = it.folder / "hostile-made.pcapng"
    path.write_bytes(hostile_capture())
    linked(it.folder, path, "hostile.pcapng")
    it.tab.open()
    seen = it.tab.choose([it.folder / "hostile.pcapng"])
    _, out, _ = it.command_line.diagnose(["hostile.pcapng"], "--json", "--annotate", "copy.pcapng")
    assert json.loads(out)["summary"]["stalls"] > 0, "the capture shows no stall"
    same(it.tab.saved("json")[1], out, "JSON of a hostile capture")
    same(it.tab.saved("annotated")[1], (it.folder / "copy.pcapng").read_bytes(), "annotated copy of a hostile capture")
    it.tab.browser.evaluate("document.querySelector('#explain').open = true")
    it.tab.until("document.querySelectorAll('#story li').length > 2")
    it.tab.browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    it.tab.attend()
    assert it.tab.browser.evaluate("document.title") == "hostile.pcapng - tinygram"
    assert "onerror" not in seen["page"], "a text of the capture is in the report as it stands"
    assert it.tab.in_frame("document.querySelectorAll('img').length") == 0
    assert it.tab.browser.evaluate("document.querySelectorAll('img').length") == 0
    assert it.tab.requests() == [] and it.tab.complaints() == [], it.tab.complaints()


def page_takes_hostile_names_as_names(it):
    octets = (CORPUS / "wwr-client.pcap").read_bytes()
    it.tab.open()
    for name in HOSTILE:
        seen = it.tab.drop([(name, octets)])
        assert seen["name"] == name and seen["title"] == f"{name} - tinygram", seen["title"]
        assert seen["elements"] == 0, (name, seen["elements"])
        assert "hacked'</script>" not in seen["page"] and "<img src=x" not in seen["page"], name
        saved_as, _ = it.tab.saved("json")
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*\.json", saved_as), saved_as
        it.tab.again()
        seen = it.tab.drop([(name, b"no capture")])
        assert seen["notices"][0].startswith(name), seen["notices"]
        assert seen["elements"] == 0, name
        it.tab.again()
    it.tab.browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert it.tab.browser.evaluate("document.title") == "tinygram"
    assert it.tab.requests() == [] and it.tab.complaints() == [], it.tab.complaints()
    return f"{len(HOSTILE)} names"


class Ears:
    """A server that hears what leaves a browser."""

    def __init__(self):
        self.heard = heard = []

        class Ear(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                heard.append(self.path)
                self.send_response(204)
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ear)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def hear(self, wanted, seconds=30):
        """Waits until these ways were heard of, on a busy machine for a while; returns all that were."""
        end = time.monotonic() + seconds
        while not wanted <= set(self.heard) and time.monotonic() < end:
            time.sleep(0.1)
        return sorted(set(self.heard))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# What a page without a policy sends in every browser.
SENT = {"/fetch", "/image", "/script", "/worker", "/beacon"}


def ways_out(url):
    """A script that tries to reach a server in every way that a page has."""
    return f"""
(async () => {{
  const url = {json.dumps(url)};
  fetch(url + "/fetch", {{ mode: "no-cors" }}).catch(() => 0);
  try {{ navigator.sendBeacon(url + "/beacon", "x"); }} catch {{}}
  try {{ new WebSocket(url.replace("http", "ws") + "/socket"); }} catch {{}}
  try {{ new EventSource(url + "/events"); }} catch {{}}
  const image = new Image();
  image.src = url + "/image";
  for (const [tag, of] of [["script", "src"], ["iframe", "src"], ["video", "src"], ["object", "data"], ["embed", "src"]]) {{
    const made = document.createElement(tag);
    made[of] = `${{url}}/${{tag}}`;
    document.body.append(made);
  }}
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = url + "/style";
  document.head.append(link);
  const form = document.createElement("form");
  form.action = url + "/form";
  form.method = "post";
  form.target = "_blank";
  document.body.append(form);
  // Later, because Firefox ends the script of a driver whose form it blocks.
  setTimeout(() => form.submit(), 300);
  const source = `fetch("${{url}}/worker", {{ mode: "no-cors" }}).catch(() => 0)`;
  new Worker(URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }})));
  return true;
}})()"""


def page_cannot_send(it):
    """Each way out is tried from inside the page and from its worker; a server would hear of it."""
    ears = Ears()
    ways = ways_out(ears.url)
    it.tab.watch_all(False)
    # That the ways are ways is shown by a page without a policy.
    bare = it.folder / "bare.html"
    bare.write_text("<!doctype html><title>bare</title><body>")
    it.tab.browser.ask("Page.navigate", url=bare.as_uri())
    it.tab.until("document.readyState === 'complete'")
    it.tab.browser.evaluate(ways)
    open_ways = ears.hear(SENT)
    assert SENT <= set(open_ways), open_ways
    ears.heard.clear()
    it.tab.open()
    assert it.tab.browser.evaluate(ways) is True
    time.sleep(1)
    it.tab.watch_all(True)
    ears.close()
    assert ears.heard == [], ears.heard
    return f"{len(open_ways)} ways out, all shut"

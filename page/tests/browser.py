"""Tests of the page in Chromium: what a person does with captures."""

import base64
import gzip
import json
import re
import time

import traffic
from ways import CORPUS, captures, damaged, linked, same

DROP = """
(async (files) => {
  const given = new DataTransfer();
  for (const { name, octets } of files) {
    given.items.add(new File([Uint8Array.from(atob(octets), (c) => c.charCodeAt(0))], name));
  }
  dispatchEvent(new DragEvent("drop", { dataTransfer: given, cancelable: true }));
})
"""
STATE = """({
  state: document.querySelector("#diagnose").dataset.state,
  name: document.querySelector("#report-name").textContent,
  notices: [...document.querySelectorAll("#notices li")].map((it) => it.textContent),
  page: document.querySelector("#report").srcdoc,
  shown: !document.querySelector("#report").hidden,
  title: document.title,
  elements: document.body.querySelectorAll("img, svg[onload], script[src]").length,
})"""
SAVED = """
new Promise((done) => {
  const click = HTMLAnchorElement.prototype.click;
  HTMLAnchorElement.prototype.click = async function () {
    HTMLAnchorElement.prototype.click = click;
    const octets = new Uint8Array(await savedBlob.arrayBuffer());
    let text = "";
    for (let i = 0; i < octets.length; i += 8192) text += String.fromCharCode(...octets.subarray(i, i + 8192));
    done({ name: this.download, octets: btoa(text) });
  };
  const make = URL.createObjectURL;
  let savedBlob = null;
  URL.createObjectURL = (blob) => {
    savedBlob = blob;
    URL.createObjectURL = make;
    return make.call(URL, blob);
  };
  document.querySelector('[data-save="WHAT"]').click();
})
"""


class Tab:
    """The page in a browser."""

    def __init__(self, browser, page, folder):
        self.browser, self.page, self.folder, self.frame = browser, page, folder, None
        browser.ask("Network.enable")
        self.watch_all(True)

    def watch_all(self, watched):
        """Whether frames and workers wait until they are watched, too."""
        self.browser.ask("Target.setAutoAttach", autoAttach=watched, waitForDebuggerOnStart=watched, flatten=True)

    def attend(self):
        """Watches the frames and workers that have come."""
        own = self.browser.session
        for event in [it for it in self.browser.events if it["method"] == "Target.attachedToTarget"]:
            self.browser.events.remove(event)
            self.browser.session = event["params"]["sessionId"]
            if event["params"]["targetInfo"]["type"] == "iframe":
                self.frame = self.browser.session
            try:
                for ask in ["Network.enable", "Runtime.enable", "Log.enable", "Runtime.runIfWaitingForDebugger"]:
                    try:
                        self.browser.ask(ask)
                    except RuntimeError as error:
                        # A worker has no log; one that has ended has no session.
                        if "wasn't found" not in str(error) and "not found" not in str(error):
                            raise
            finally:
                self.browser.session = own

    def open(self, fragment=""):
        self.browser.events.clear()
        self.browser.ask("Page.navigate", url="about:blank")
        self.browser.ask("Page.navigate", url=f"{self.page.resolve().as_uri()}{fragment}")
        self.until("document.readyState === 'complete' && !!document.querySelector('#choose')")

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.browser.evaluate(condition):
                return
            self.attend()
            time.sleep(0.02)
        raise AssertionError(f"never: {condition}; complaints: {self.complaints()}")

    def in_frame(self, expression):
        """What an expression says inside the report's frame."""
        own, self.browser.session = self.browser.session, self.frame or self.browser.session
        try:
            return self.browser.evaluate(expression)
        finally:
            self.browser.session = own

    def choose(self, paths):
        """Chooses files, as a person does by the dialog."""
        tree = self.browser.ask("DOM.getDocument")
        node = self.browser.ask("DOM.querySelector", nodeId=tree["root"]["nodeId"], selector="#files")["nodeId"]
        self.browser.ask("DOM.setFileInputFiles", files=[str(it) for it in paths], nodeId=node)
        return self.judged()

    def drop(self, files):
        given = [{"name": name, "octets": base64.b64encode(octets).decode()} for name, octets in files]
        self.browser.evaluate(f"{DROP}({json.dumps(given)})")
        return self.judged()

    def judged(self):
        self.until("document.querySelector('#diagnose').dataset.state === 'report'")
        return self.browser.evaluate(STATE)

    def again(self):
        self.browser.evaluate("document.querySelector('#another').click()")

    def saved(self, what):
        got = self.browser.evaluate(SAVED.replace("WHAT", what))
        return got["name"], base64.b64decode(got["octets"])

    def requests(self):
        """Every address that was asked for, besides the page itself and what it holds."""
        self.attend()
        self.browser.evaluate("new Promise((done) => setTimeout(done, 200))")
        asked = [it["params"]["request"]["url"] for it in self.browser.events if it["method"] == "Network.requestWillBeSent"]
        own = (self.page.resolve().as_uri(), "blob:", "data:", "about:")
        return [url for url in asked if not url.startswith(own)]

    def complaints(self):
        """What the browser said on its console, policy violations too."""
        said = []
        for event in self.browser.events:
            if event["method"] == "Log.entryAdded":
                said.append(event["params"]["entry"]["text"])
            if event["method"] == "Runtime.exceptionThrown":
                said.append(str(event["params"]["exceptionDetails"].get("exception", {}).get("description")))
            if event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
                said.append(str(event["params"]["args"]))
        return said


def page_judges_every_capture_as_the_command_line_does(it):
    """JSON as it is saved, and the report as it is shown, through the dialog for files."""
    chosen = captures()
    footer = re.compile(r"<footer>.*?</footer>", re.S)
    it.tab.open()
    for name, path in chosen:
        link = linked(it.folder, path, name)
        seen = it.tab.choose([link])
        assert (seen["name"], seen["shown"], seen["notices"]) == (name, True, []), (name, seen["notices"])
        _, out, _ = it.command_line.diagnose([name], "--json", "--html", "page.html")
        saved_as, octets = it.tab.saved("json")
        assert saved_as == re.sub(r"\.(gz|zst)$", "", name) + ".json", saved_as
        same(octets, out, f"JSON of {name}")
        same(footer.sub("", seen["page"]), footer.sub("", (it.folder / "page.html").read_text()), f"report of {name}")
        it.tab.again()
    assert it.tab.requests() == [], it.tab.requests()
    assert it.tab.complaints() == [], it.tab.complaints()
    return f"{len(chosen)} captures"


def page_opens_its_sample(it):
    it.tab.open()
    it.tab.browser.evaluate("document.querySelector('#sample').click()")
    seen = it.tab.judged()
    assert seen["name"] == "wwr-among-clean.pcap.gz" and "write-write-read" in seen["page"], seen["name"]
    name, octets = it.tab.saved("annotated")
    assert name == "wwr-among-clean.pcap.annotated.pcapng" and b"tinygram finding 1" in octets, name
    name, octets = it.tab.saved("csv")
    assert name == "wwr-among-clean.pcap.csv" and octets.startswith(b"capture,connection,"), name
    name, octets = it.tab.saved("html")
    assert name == "wwr-among-clean.pcap.html" and octets.decode() == seen["page"], name


def page_draws_the_report_inside(it):
    """The report's own script runs in its frame: its charts are drawn, and no policy was violated."""
    it.tab.open()
    it.tab.browser.evaluate("document.querySelector('#sample').click()")
    it.tab.judged()
    end = time.monotonic() + 10
    plots = 0
    while time.monotonic() < end and plots < 2:
        it.tab.browser.evaluate("new Promise((done) => setTimeout(done, 50))")
        it.tab.attend()
        plots = it.tab.in_frame("document.querySelectorAll('.plot .stage canvas').length")
    assert plots >= 2, plots
    drawn = """[...document.querySelectorAll('.stage canvas')].filter((it) => {
        const { data } = it.getContext('2d').getImageData(0, 0, it.width, it.height);
        return data.some((octet) => octet > 0);
    }).length"""
    assert it.tab.in_frame(drawn) == plots
    assert it.tab.in_frame("getComputedStyle(document.querySelector('.verdict')).borderLeftStyle") == "solid"
    assert it.tab.complaints() == [], it.tab.complaints()


def page_says_by_which_scale_a_stall_is_drawn(it):
    """Where the picture begins, and that its times are stretched; a button makes them true."""
    it.tab.open()
    it.tab.choose([CORPUS / "wwr-client.pcap"])
    it.tab.browser.evaluate("document.querySelector('#explain').open = true")
    it.tab.until("document.querySelectorAll('#story li').length > 2")
    said = "document.querySelector('.story-scale').textContent"
    arrows = "[...document.querySelectorAll('#story .arrow line')].map((it) => +it.getAttribute('y1'))"
    words, drawn = it.tab.browser.evaluate(said), it.tab.browser.evaluate(arrows)
    assert re.search(r"^Frames \d+ to \d+: .+, from \d+\.\d{6} s after the capture's first frame\.", words), words
    assert "not to scale" in words, words
    it.tab.browser.evaluate("document.querySelector('.story-scale button').click()")
    words, true = it.tab.browser.evaluate(said), it.tab.browser.evaluate(arrows)
    assert "to scale" in words and "not to scale" not in words, words
    assert len(drawn) == len(true) and drawn != true, (drawn, true)


def page_draws_each_report(it):
    """Chromium paints no frame that was given its second page while it was hidden."""
    it.tab.open()
    sizes = []
    for _ in range(3):
        it.tab.choose([CORPUS / "wwr-client.pcap"])
        for _ in range(40):
            it.tab.browser.evaluate("new Promise((done) => setTimeout(done, 50))")
            it.tab.attend()
        sizes.append(len(it.tab.browser.ask("Page.captureScreenshot", format="png")["data"]))
        it.tab.again()
    # A picture without the report is a fifth of one with it.
    assert min(sizes) > 0.9 * max(sizes), sizes


def page_follows_the_reports_links(it):
    """A link within the report leads to what it names, though the report's frame has no address."""
    it.tab.open()
    it.tab.browser.evaluate("document.querySelector('#sample').click()")
    it.tab.judged()
    # The frame's script runs a moment later.
    it.tab.until("true")
    it.tab.browser.evaluate("new Promise((done) => setTimeout(done, 500))")
    it.tab.attend()
    in_view = """((it) => it.getBoundingClientRect().top >= -1 && it.getBoundingClientRect().top < innerHeight)"""
    last = "document.getElementById([...document.querySelectorAll('nav li > a')].at(-1).hash.slice(1))"
    assert not it.tab.in_frame(f"{in_view}({last})"), "the last article is in view without a link"
    it.tab.in_frame("[...document.querySelectorAll('nav li > a')].at(-1).click()")
    assert it.tab.in_frame(f"{in_view}({last})")
    it.tab.in_frame("document.querySelector('a.up').click()")
    assert it.tab.in_frame(f"{in_view}(document.getElementById('contents'))")
    assert it.tab.complaints() == [], it.tab.complaints()


def page_says_of_damage_what_the_command_line_says(it):
    made = damaged(it.folder)
    it.tab.open()
    for name, path in made:
        seen = it.tab.choose([path])
        code, out, said = it.command_line.diagnose([name], "--json")
        said = [line.removeprefix("tinygram: ") + "." for line in said.splitlines()]
        assert seen["notices"] == said, (name, seen["notices"], said)
        assert seen["shown"] == bool(out), (name, code)
        it.tab.again()
    return f"{len(made)} damaged captures"


def page_stops_at_the_button(it):
    whole = (CORPUS / "flood-nodelay.pcap").read_bytes()
    path = it.folder / "long.pcap"
    with open(path, "wb") as out:
        out.write(whole[:24])
        for _ in range(4000):
            out.write(whole[24:])
    it.tab.open()
    tree = it.tab.browser.ask("DOM.getDocument")
    node = it.tab.browser.ask("DOM.querySelector", nodeId=tree["root"]["nodeId"], selector="#files")["nodeId"]
    it.tab.browser.ask("DOM.setFileInputFiles", files=[str(path)], nodeId=node)
    it.tab.until("document.querySelector('#reading-bar').value > 0")
    it.tab.browser.evaluate("document.querySelector('#stop').click()")
    seen = it.tab.judged()
    assert len(seen["notices"]) == 1 and re.match(r"long\.pcap was stopped after frame \d+;", seen["notices"][0]), seen["notices"]
    frames = int(re.search(r"frame (\d+)", seen["notices"][0]).group(1))
    _, octets = it.tab.saved("json")
    assert json.loads(octets)["summary"]["frames"] == frames
    return f"stopped after {frames} frames"


def page_reads_large_captures_ahead(it):
    """What another worker reads ahead comes in its order, over the end of a file, too."""
    names = ["large-1.pcap", "large-2.pcap"]
    for name, snap in zip(names, [65_535, 96]):
        traffic.write(it.folder / name, 40_000_000, snap)
    it.tab.open()
    it.tab.browser.evaluate("""(() => {
      const post = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function (message, ...rest) {
        if (message.is === "read-ahead") window.readsAhead = true;
        return post.call(this, message, ...rest);
      };
    })()""")
    it.tab.choose([it.folder / name for name in names])
    assert it.tab.browser.evaluate("window.readsAhead === true"), "nothing was read ahead"
    same(it.tab.saved("json")[1], it.command_line.diagnose(names, "--json")[1], "JSON of large captures")
    assert it.tab.complaints() == [], it.tab.complaints()
    for name in names:
        (it.folder / name).unlink()


def page_is_small(it):
    octets = it.page.read_bytes()
    packed = len(gzip.compress(octets, 9))
    assert packed <= 600_000, packed
    assert not re.search(rb'(?:src|href)="(?!#|data:)', octets), "it names another file"
    assert b' style="' not in octets
    return f"{len(octets) // 1000} kB, {packed // 1000} kB in gzip"

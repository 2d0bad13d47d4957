"""Other browsers than Chromium: Firefox by Marionette, the protocol that geckodriver speaks to it, and WebKitGTK by its
WebDriver. Only what the tests need."""

import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from browser import DROP
from hostile import HOSTILE, SENT, Ears, ways_out
from ways import CORPUS, captures, linked, same

PATIENCE = 120
# How an element is named in WebDriver's JSON.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Firefox:
    """Firefox without a window."""

    name = "firefox"

    @staticmethod
    def absent():
        return None if shutil.which("firefox-esr") or shutil.which("firefox") else "no firefox-esr here"

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
        port = free_port()
        settings = {"marionette.port": port, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
        (pathlib.Path(self.profile.name) / "user.js").write_text("\n".join(lines))
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--marionette", "--profile", self.profile.name],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "MOZ_HEADLESS": "1", "HOME": self.profile.name})
        self.socket = connected(port)
        self.socket.settimeout(PATIENCE)
        self.number = 0
        self.heard()
        self.ask("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})
        self.ask("WebDriver:SetTimeouts", {"script": PATIENCE * 1000})

    def heard(self):
        """The next message, which stands behind its length."""
        length = b""
        while not length.endswith(b":"):
            length += self.socket.recv(1)
        left, text = int(length[:-1]), b""
        while len(text) < left:
            text += self.socket.recv(left - len(text))
        return json.loads(text)

    def ask(self, command, parameters):
        self.number += 1
        message = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(f"{len(message)}:".encode() + message)
        _, _, error, result = self.heard()
        if error:
            raise RuntimeError(f"{command}: {error}")
        return result.get("value", result) if isinstance(result, dict) else result

    def open(self, url):
        self.ask("WebDriver:Navigate", {"url": url})

    def evaluate(self, expression):
        script = f"const done = arguments[arguments.length - 1]; Promise.resolve({expression}).then(done)"
        return self.ask("WebDriver:ExecuteAsyncScript", {"script": script, "args": []})

    def choose(self, selector, path):
        found = self.ask("WebDriver:FindElement", {"using": "css selector", "value": selector})
        self.ask("WebDriver:ElementSendKeys", {"id": found[ELEMENT], "text": str(path)})

    def close(self):
        try:
            self.ask("Marionette:Quit", {"flags": ["eForceQuit"]})
        except (OSError, RuntimeError, ValueError):
            self.process.terminate()
        ended(self.process)
        self.profile.cleanup()


class WebKit:
    """WebKitGTK's own small browser, on a screen in memory."""

    name = "webkit"

    @staticmethod
    def absent():
        missing = [it for it in ["WebKitWebDriver", "Xvfb"] if shutil.which(it) is None]
        return f"no {' and no '.join(missing)} here" if missing else None

    def __init__(self):
        display = f":{90 + os.getpid() % 400}"
        self.home = tempfile.TemporaryDirectory()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.screen = subprocess.Popen(["Xvfb", display, "-screen", "0", "1280x1000x24"], **quiet)
        port = free_port()
        # WebKit's own sandbox needs what a container has not; the page is ours.
        own = {"DISPLAY": display, "HOME": self.home.name, "WEBKIT_DISABLE_COMPOSITING_MODE": "1", "WEBKIT_FORCE_SANDBOX": "0"}
        self.process = subprocess.Popen(["WebKitWebDriver", f"--port={port}"], env={**os.environ, **own}, **quiet)
        connected(port).close()
        self.url = f"http://127.0.0.1:{port}/session"
        self.url += "/" + self.ask("POST", "", {"capabilities": {"alwaysMatch": {}}})["sessionId"]
        self.ask("POST", "/timeouts", {"script": PATIENCE * 1000})

    def ask(self, method, place, parameters=None):
        body = json.dumps(parameters or {}).encode() if method == "POST" else None
        asked = urllib.request.Request(self.url + place, body, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{place}: {error.read().decode()[:500]}") from error

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def evaluate(self, expression):
        script = f"const done = arguments[arguments.length - 1]; Promise.resolve({expression}).then(done)"
        return self.ask("POST", "/execute/async", {"script": script, "args": []})

    def choose(self, selector, path):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        self.ask("POST", f"/element/{found[ELEMENT]}/value", {"text": str(path)})

    def close(self):
        try:
            self.ask("DELETE", "")
        except (OSError, RuntimeError):
            pass
        for process in [self.process, self.screen]:
            process.terminate()
            ended(process)
        self.home.cleanup()


def connected(port):
    """A connection to a program that has just been started."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def ended(process):
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


def until(browser, condition):
    end = time.monotonic() + PATIENCE
    while not browser.evaluate(condition):
        assert time.monotonic() < end, f"never: {condition}"
        time.sleep(0.1)


def reported(browser):
    until(browser, "document.querySelector('#diagnose').dataset.state === 'report'")


SAVED = """new Promise((done) => {
  const make = URL.createObjectURL;
  const click = HTMLAnchorElement.prototype.click;
  let saved = null;
  URL.createObjectURL = (blob) => {
    saved = blob;
    return make.call(URL, blob);
  };
  HTMLAnchorElement.prototype.click = function () {
    [URL.createObjectURL, HTMLAnchorElement.prototype.click] = [make, click];
    saved.text().then(done);
  };
  document.querySelector('[data-save="json"]').click();
})"""


def judges_and_plays(it, kind):
    """The sample and a file are judged as on the command line, a chapter is played, and nothing can be fetched."""
    reason = kind.absent()
    if reason:
        return f"skipped: {reason}"
    corpus = it.page_folder.parent / "corpus"
    browser = kind()
    try:
        browser.open(it.page.resolve().as_uri())
        browser.evaluate("document.querySelector('#sample').click()")
        reported(browser)
        assert "write-write-read" in browser.evaluate("document.querySelector('#report').srcdoc")
        browser.evaluate("document.querySelector('#another').click()")
        # A hidden field cannot be typed into in every browser.
        browser.evaluate("document.querySelector('#files').hidden = false")
        browser.choose("#files", (corpus / "flood-nodelay.pcap").resolve())
        reported(browser)
        (it.folder / "flood-nodelay.pcap").unlink(missing_ok=True)
        (it.folder / "flood-nodelay.pcap").symlink_to((corpus / "flood-nodelay.pcap").resolve())
        _, out, _ = it.command_line.diagnose(["flood-nodelay.pcap"], "--json")
        assert browser.evaluate(SAVED) == out.decode(), "JSON differs"
        blocked = browser.evaluate("fetch('data:text/plain,x').then(() => 'open', () => 'shut')")
        assert blocked == "shut", blocked
        browser.evaluate("location.hash = '#play/idea'")
        until(browser, "document.querySelectorAll('#chapter-idea svg.conversation .future').length === 2")
        results = browser.evaluate("[...document.querySelectorAll('#chapter-idea .result')].map((it) => it.textContent).join(' | ')")
        version = browser.evaluate("navigator.userAgent")
        return f"{results}; {version}"
    finally:
        browser.close()


def judges_every_capture(it, kind):
    """JSON as it is saved, of every capture and of hostile names, and no way out."""
    reason = kind.absent()
    if reason:
        return f"skipped: {reason}"
    browser = kind()
    try:
        opened = it.page.resolve().as_uri()
        browser.open(opened)
        browser.evaluate("document.querySelector('#files').hidden = false")
        chosen = captures()
        for name, path in chosen:
            browser.choose("#files", path.resolve())
            reported(browser)
            linked(it.folder, path, name)
            same(browser.evaluate(SAVED).encode(), it.command_line.diagnose([name], "--json")[1], f"JSON of {name}")
            browser.evaluate("document.querySelector('#another').click()")
        for name in HOSTILE:
            octets = base64.b64encode((CORPUS / "wwr-client.pcap").read_bytes()).decode()
            browser.evaluate(f"{DROP}({json.dumps([{'name': name, 'octets': octets}])})")
            reported(browser)
            shown = browser.evaluate("document.querySelector('#report-name').textContent + ' | ' + document.title")
            assert shown == f"{name} | {name} - tinygram", shown
            assert browser.evaluate("document.querySelectorAll('img, svg[onload], script[src]').length") == 0, name
            browser.evaluate("document.querySelector('#another').click()")
        ears = Ears()
        bare = it.folder / "bare.html"
        bare.write_text("<!doctype html><title>bare</title><body>")
        browser.open(bare.as_uri())
        browser.evaluate(ways_out(ears.url))
        open_ways = ears.hear(SENT)
        ears.heard.clear()
        browser.open(opened)
        assert browser.evaluate(ways_out(ears.url)) is True
        time.sleep(2)
        ears.close()
        assert len(open_ways) >= 5, open_ways
        assert ears.heard == [], ears.heard
        return f"{len(chosen)} captures, {len(HOSTILE)} names; {len(open_ways)} ways out, all shut"
    finally:
        browser.close()


def other_firefox_judges_and_plays(it):
    return judges_and_plays(it, Firefox)


def other_webkit_judges_and_plays(it):
    return judges_and_plays(it, WebKit)


def other_firefox_judges_every_capture(it):
    return judges_every_capture(it, Firefox)


def other_webkit_judges_every_capture(it):
    return judges_every_capture(it, WebKit)

"""Tests of the page in Chromium: that it fits, and can be read and used by everybody."""


def page_fits_every_window(it):
    """Nothing is wider than the window, and everything can be reached by the keyboard and has a name."""
    for width in [360, 400, 768, 1280, 2560]:
        it.tab.browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        for state in ["empty", "report", "#play", "#sender"]:
            it.tab.open(state if state.startswith("#") else "")
            if state == "#play":
                it.tab.browser.evaluate("scrollTo(0, document.querySelector('#chapter-lengths').offsetTop)")
                it.tab.until("document.querySelectorAll('#chapter-lengths svg.conversation .future').length === 2", 120)
            if state == "report":
                it.tab.browser.evaluate("document.querySelector('#sample').click()")
                it.tab.judged()
            beyond = it.tab.browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert beyond <= 0, (width, state, beyond)
            nameless = it.tab.browser.evaluate(
                "[...document.querySelectorAll('button, a, iframe, input, select, canvas')].filter((it) => it.checkVisibility() && "
                "!it.closest('[aria-hidden]') && !it.ariaHidden && "
                "!(it.textContent.trim() || it.title || it.ariaLabel || it.closest('label'))).map((it) => it.outerHTML)")
            assert nameless == [], nameless
    it.tab.browser.ask("Emulation.clearDeviceMetricsOverride")


# The least contrast of texts with what is behind them (WCAG 2.2, 1.4.3), and those that have less. A colour is
# painted and read back, because styles mix colours.
PALE = """(() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const painted = (...colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((it) => it / 255).map((it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4))
    .reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (it) => {
    const colours = [];
    for (let at = it; at; at = at.parentElement) colours.unshift(getComputedStyle(at).backgroundColor);
    return painted("white", ...colours);
  };
  const pale = [];
  for (const it of document.querySelectorAll("body *")) {
    const says = [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says || !it.checkVisibility() || it.closest("script, .unseen, .future, option, :disabled")) continue;
    const style = getComputedStyle(it);
    const ground = behind(it instanceof SVGElement ? it.closest("svg").parentElement : it);
    const ink = painted(`rgb(${ground.slice(0, 3)})`, it instanceof SVGElement ? style.fill : style.color);
    const [dark, bright] = [light(ground), light(ink)].sort((a, b) => a - b);
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < 4.5) pale.push(`${contrast.toFixed(2)}: ${it.outerHTML.slice(0, 90)}`);
  }
  return pale;
})()"""


def page_can_be_read(it):
    """Every text has enough contrast, in light and dark."""
    for scheme in ["light", "dark"]:
        it.tab.browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for view in ["", "#play/idea", "#play/deadlock", "#sender"]:
            it.tab.open(view)
            if "/" in view:
                chapter = view.replace("#play/", "#chapter-")
                it.tab.until(f"document.querySelectorAll('{chapter} svg.conversation .future').length === 2", 120)
            if view.endswith("deadlock"):
                it.tab.until("[...document.querySelectorAll('.plane button')].every((it) => it.textContent !== '')", 120)
            pale = it.tab.browser.evaluate(PALE)
            assert pale == [], (scheme, view, pale)
    it.tab.browser.ask("Emulation.setEmulatedMedia", features=[])


def pressed(tab, key, code, text=""):
    """Presses a key, as a person does."""
    number = {"Tab": 9, "Enter": 13, "Space": 32}[code]
    for kind in ["keyDown", "keyUp"]:
        tab.browser.ask("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number,
                        **({"text": text} if kind == "keyDown" and text else {}))


def page_can_be_used_by_the_keyboard_alone(it):
    """The sample is opened and left, a rule is reached, and the game is begun and played, with Tab, Enter and Space."""
    focused = "(document.activeElement.id || document.activeElement.dataset.game || document.activeElement.className || document.activeElement.tagName)"

    def tab_to(wanted, most=60):
        for _ in range(most):
            pressed(it.tab, "Tab", "Tab")
            if it.tab.browser.evaluate(wanted):
                return
        raise AssertionError(f"Tab does not reach {wanted}; it stands at {it.tab.browser.evaluate(focused)}")

    it.tab.open()
    tab_to("document.activeElement.id === 'sample'")
    shown = it.tab.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert shown == "solid", f"the focus is not seen: {shown}"
    pressed(it.tab, "Enter", "Enter", "\r")
    it.tab.judged()
    it.tab.browser.evaluate("document.querySelector('.tools').focus(), document.querySelector('.mark').focus()")
    tab_to("document.activeElement.id === 'another'")
    pressed(it.tab, "Enter", "Enter", "\r")
    it.tab.until("document.querySelector('#diagnose').dataset.state === 'empty' && document.activeElement.id === 'choose'")
    it.tab.open("#play/idea")
    it.tab.until("document.querySelectorAll('#chapter-idea svg.conversation .future').length === 2", 120)
    tab_to("document.activeElement.matches('#chapter-idea .slider input')")
    tab_to("document.activeElement.matches('#chapter-idea select')")
    tab_to("document.activeElement.matches('#chapter-idea .scrub button')")
    it.tab.open("#sender?seed=3")
    tab_to("document.activeElement.dataset.game === 'start'")
    pressed(it.tab, "Enter", "Enter", "\r")
    it.tab.until("document.querySelector('[data-game=told]').textContent.includes('octets held') && !/\\b0 octets/.test(document.querySelector('[data-game=told]').textContent)")
    pressed(it.tab, " ", "Space", " ")
    it.tab.until("/^[1-9]/.test(document.querySelector('[data-game=told]').textContent)")
    assert it.tab.complaints() == [], it.tab.complaints()


def page_keeps_still_where_motion_is_unwelcome(it):
    """With prefers-reduced-motion a figure stands at its end; without, its time passes once."""
    positions = """(async () => {
      const scrub = document.querySelector("#chapter-idea .scrub input"), seen = new Set();
      for (let at = 0; at < 30; at += 1) {
        seen.add(scrub.value);
        await new Promise((done) => setTimeout(done, 50));
      }
      return [...seen];
    })()"""
    seen = {}
    for wish in ["reduce", "no-preference"]:
        it.tab.browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": wish}])
        it.tab.open("#play/idea")
        it.tab.until("document.querySelectorAll('#chapter-idea svg.conversation .future').length === 2", 120)
        it.tab.browser.evaluate("document.querySelector('#chapter-idea .ladder-box').scrollIntoView({ block: 'center' })")
        seen[wish] = it.tab.browser.evaluate(positions)
    it.tab.browser.ask("Emulation.setEmulatedMedia", features=[])
    assert seen["reduce"] == ["1000"], seen
    assert len(seen["no-preference"]) > 5, seen


def page_links_only_to_its_own_views(it):
    """A link that leads nowhere would show the first view again, as if nothing was clicked."""
    chapter = "document.getElementById(to.replace('#play/', 'chapter-'))"
    it.tab.open()
    astray = it.tab.browser.evaluate(
        "[...document.querySelectorAll('a[href]')].map((it) => it.getAttribute('href'))"
        f".filter((to) => !(to.startsWith('#') && (document.getElementById(to.slice(1)) || {chapter})))")
    assert astray == [], astray

// Be the sender: a program writes, and the reader holds or sends. Afterwards the same writes go through the rules.

const SEEN_MS = 170; // of the network, from the left edge of the track to now
const NOW_AT = 0.72; // of the track's width
const RIVALS = [
  { name: "Nagle", sender: { rule: "nagle" }, mark: "hollow" }, { name: "Minshall", sender: { rule: "minshall" }, mark: "crosses" },
  { name: "DLDET", sender: { rule: "dldet" }, mark: "triangles" }, { name: "TCP_NODELAY", sender: { rule: "off" }, mark: "dots" },
  { name: "who knows the future", sender: "foresight", mark: "hollow" },
];
const GAME_MSS = 1460;
const LABEL_WIDTH = 32; // pixels that a number of four digits takes

class Game {
  constructor(view) {
    Object.assign(this, { view, track: view.querySelector("canvas") });
    this.parts = Object.fromEntries(["start", "send", "told", "left", "outcome"].map((it) => [it, view.querySelector(`[data-game=${it}]`)]));
    this.parts.start.addEventListener("click", () => this.start());
    this.parts.send.addEventListener("click", () => this.press());
    addEventListener("keydown", (event) => {
      if (!this.isOn || (event.key !== " " && event.key !== "Enter") || event.repeat) return;
      event.preventDefault();
      this.press();
    });
    new ResizeObserver(() => this.draw()).observe(this.track);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    addEventListener("hashchange", () => this.stopElsewhere());
    this.reset();
  }

  reset() {
    const { given } = named(location.hash);
    this.seed = Number.isInteger(Number(given.seed)) && Number(given.seed) > 0 ? Number(given.seed) : 1 + Math.floor(Math.random() * 9999);
    this.messages = messagesOf(this.seed);
    this.writes = this.messages.flat().map(([us, octets]) => ({ at: us / 1000, octets }));
    Object.assign(this, { now: 0, made: 0, held: 0, presses: [], sent: [], isOn: false });
    this.draw();
  }

  start() {
    this.reset();
    this.isOn = true;
    this.began = performance.now();
    this.parts.start.hidden = true;
    this.parts.send.disabled = false;
    this.parts.outcome.replaceChildren();
    this.parts.send.focus();
    const step = (time) => {
      if (!this.isOn) return;
      this.advance(Math.max(0, time - this.began) / SLOWER);
      this.draw();
      if (this.now >= GAME_MS) this.end();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  stopElsewhere() {
    if (!this.isOn || location.hash.startsWith("#sender")) return;
    this.isOn = false;
    this.parts.start.hidden = false;
    this.parts.send.disabled = true;
  }

  /** Takes in what the program has written up to a time; a full segment leaves by itself. */
  advance(now) {
    this.now = now;
    while (this.made < this.writes.length && this.writes[this.made].at <= now) {
      const { at, octets } = this.writes[this.made];
      this.made += 1;
      this.held += octets;
      while (this.held >= GAME_MSS) {
        this.held -= GAME_MSS;
        this.sent.push({ at, octets: GAME_MSS });
      }
    }
    this.tell();
  }

  press() {
    if (!this.isOn) return;
    this.advance((performance.now() - this.began) / SLOWER);
    if (this.held === 0) return;
    this.presses.push(Math.round(this.now * 1000));
    this.sent.push({ at: this.now, octets: this.held });
    this.held = 0;
    this.tell();
  }

  tell() {
    const left = Math.max(0, Math.ceil(((GAME_MS - this.now) * SLOWER) / 1000));
    const text = `${plural(this.sent.length, "segment")} sent, ${plural(this.held, "octet")} held`;
    if (this.parts.told.textContent !== text) this.parts.told.textContent = text;
    if (this.parts.left.textContent !== `${left} s`) this.parts.left.textContent = `${left} s`;
  }

  async end() {
    // What is still held at the end leaves with it.
    if (this.held > 0) {
      this.presses.push(GAME_MS * 1000);
      this.sent.push({ at: GAME_MS, octets: this.held });
      this.held = 0;
      this.tell();
      this.draw();
    }
    this.isOn = false;
    this.parts.send.disabled = true;
    this.parts.start.hidden = false;
    this.parts.start.textContent = "Again";
    const players = [{ name: "you", sender: { presses: this.presses }, mark: "rings" }, ...RIVALS];
    const runs = await Promise.all(players.map(({ sender }) => workers.ask({ ask: "game", messages: this.messages, sender })));
    this.show(players.map((player, at) => ({ ...player, ...placeOfRun(runs[at]) })));
  }

  show(players) {
    const [you] = players;
    const others = players.slice(1, 4);
    const beaten = others.filter((it) => you.times <= it.times + 1e-9 && you.late <= it.late + 1e-9);
    const verdict = beaten.length
      ? `No worse than ${beaten.map(({ name }) => name).join(" and ")} in either measure.`
      : "Each of the rules beats you in one of the measures.";
    const place = element("div", {});
    const rows = players.map(({ name, segments, times, late }) => element("tr", {}, element("th", { scope: "row" }, name),
      element("td", {}, grouped(segments)), element("td", {}, times.toFixed(2)), element("td", {}, `${late.toFixed(1)} ms`)));
    const heads = ["", "segments", "times the fewest", "later than the earliest"].map((it) => element("th", { scope: "col" }, it));
    const link = element("a", { href: `#sender?seed=${this.seed}` }, `The same writes again: seed ${this.seed}`);
    this.parts.outcome.replaceChildren(
      element("h2", { tabindex: "-1" }, `You sent ${plural(you.segments, "segment")}; ${bound(you)}.`),
      element("p", {}, `Your messages came ${you.late.toFixed(1)} ms later than they could, in the mean. ${joined(you)}${verdict}`), place,
      element("div", { class: "score-table" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows))),
      element("p", {}, link),
    );
    LiveChart.in(place, "Everybody's distance from both bounds", {
      x: { name: "segments, times the fewest" }, y: { name: "later than the earliest", unit: "ms, mean" },
      series: players.map(({ name, mark, times, late }) => ({ name, mark, points: [[times, late]] })),
    });
    this.parts.outcome.querySelector("h2").focus();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.track;
    if (!width) return;
    const scale = window.devicePixelRatio || 1;
    this.track.width = Math.round(width * scale);
    this.track.height = Math.round(height * scale);
    const pen = this.track.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(this.view);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.font = `13px ${style.getPropertyValue("--sans")}`;
    const x = (at) => width * NOW_AT - ((this.now - at) / SEEN_MS) * width * NOW_AT;
    const tall = (octets) => 8 + (Math.min(octets, GAME_MSS) / GAME_MSS) * (height * 0.3);
    const middle = height * 0.5;
    pen.fillStyle = colour("soft");
    pen.fillText("the program writes", 8, 18);
    pen.fillText("on the wire", 8, height - 10);
    pen.strokeStyle = colour("rule");
    pen.beginPath();
    pen.moveTo(0, middle);
    pen.lineTo(width, middle);
    pen.stroke();
    const last = this.sent.at(-1)?.at ?? -1;
    let before = null; // where the last label stands
    const label = (text, at, y) => {
      const isMet = before && Math.abs(before.at - at) < LABEL_WIDTH && Math.abs(before.y - y) < LABEL_HEIGHT;
      const free = isMet ? before.y + Math.sign(y - middle) * LABEL_HEIGHT : y;
      before = { at, y: free };
      pen.textAlign = "center";
      pen.fillText(text, at, free);
      pen.textAlign = "left";
    };
    for (const { at, octets } of this.writes.slice(0, this.made)) {
      if (x(at) < -40) continue;
      pen.fillStyle = at > last ? colour("bad") : colour("soft");
      pen.fillRect(x(at) - 9, middle - 3 - tall(octets), 18, tall(octets));
      label(octets, x(at), middle - 9 - tall(octets));
    }
    for (const { at, octets } of this.sent) {
      if (x(at) < -40) continue;
      pen.fillStyle = colour("near");
      pen.fillRect(x(at) - 9, middle + 3, 18, tall(octets));
      label(octets, x(at), middle + 20 + tall(octets));
    }
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(width * NOW_AT, 8);
    pen.lineTo(width * NOW_AT, height - 8);
    pen.stroke();
    pen.fillStyle = colour("ink");
    pen.fillText("now", width * NOW_AT + 8, 18);
    pen.fillText(this.held ? `held: ${grouped(this.held)}` : "", width * NOW_AT + 8, middle - 10);
  }
}

const bound = ({ segments, fewest }) => (segments < fewest ? `one message at a time takes ${grouped(fewest)}` : `${grouped(fewest)} would do`);

/** Why there are fewer segments than the messages take one at a time, as the rules' programs write them. */
function joined({ segments, fewest }) {
  return segments < fewest ? "Some left together with the next message: that saves segments, and the other program waits for both. " : "";
}

/** A run's distance from both bounds. */
function placeOfRun({ counts, fewest, messages }) {
  const late = messages.map((it) => (it.delivered_us - it.earliest_us) / 1000);
  return {
    segments: counts.data_segments, fewest, times: counts.data_segments / fewest,
    late: late.reduce((sum, it) => sum + Math.max(0, it), 0) / late.length,
  };
}

new Game(document.querySelector("#sender"));

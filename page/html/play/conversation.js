// A conversation between two hosts as a time-sequence diagram: time goes down, segments are arrows, what waits
// is a bar on the line of the host that lets it wait.

const SVG = "http://www.w3.org/2000/svg";
const PADDING = { top: 34, bottom: 26 };
const BAR = 7; // half the width of a bar
const LABEL_HEIGHT = 13; // an arrow's label needs this much room below the one before
const LETTER_HEIGHT = 9;
const LETTER_WIDTH = 6.6;
const WORD_LETTER = 5.7; // the mean of a word's letters
// Where an arrow's label may stand: a share of its way, and pixels below the line there.
const PLACES = [0.34, 0.5, 0.2, 0.66, 0.8].map((share) => [share, -4]).concat([0.34, 0.5, 0.66].map((share) => [share, 13]));
const MANY = 24; // writes; with more, they have no words
const DENSE = 70; // segments; with more, lines are thin and without heads
const GUTTER = 0.19; // of the width, on either side
const WORDS_HEIGHT = 30; // of a bar that has room for words beside it

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

let conversations = 0;

class Conversation {
  constructor(place) {
    this.id = `conversation-${(conversations += 1)}`;
    this.drawing = svg("svg", { role: "img", class: "conversation" });
    place.append(this.drawing);
  }

  /** Draws a run on a scale of time that other pictures share. */
  draw(run, scale, width, share = GUTTER) {
    Object.assign(this, { run, scale, width, taken: [[], []], labels: [] });
    const gutter = Math.max(26, Math.min(92, width * share));
    this.xs = [gutter, width - gutter];
    const height = PADDING.top + scale.height + PADDING.bottom;
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute("height", height);
    this.drawing.setAttribute("aria-label", this.told());
    this.drawing.classList.toggle("dense", run.frames.length > DENSE);
    const whole = svg("g", {}, ...this.hosts(), ...this.bars(), ...this.calls(), ...this.arrows(), ...this.end());
    this.past = svg("rect", { x: 0, y: 0, width, height: 0 });
    const clip = svg("clipPath", { id: `${this.id}-past` }, this.past);
    const future = whole.cloneNode(true);
    future.setAttribute("class", "future");
    future.setAttribute("aria-hidden", "true");
    this.cursor = svg("line", { class: "cursor", x1: 0, x2: width });
    this.flying = svg("g", { class: "flying" });
    this.drawing.replaceChildren(
      svg("defs", {}, clip),
      future,
      svg("g", { "clip-path": `url(#${this.id}-past)` }, whole), this.cursor, this.flying,
    );
  }

  y(time) {
    return PADDING.top + this.scale.y(time);
  }

  hosts() {
    const bottom = PADDING.top + this.scale.height + 8;
    return this.run.ends.flatMap((name, at) => [
      svg("line", { class: "host", x1: this.xs[at], x2: this.xs[at], y1: PADDING.top - 10, y2: bottom }),
      svg("text", { class: "host-name", x: this.xs[at], y: 14 }, name),
    ]);
  }

  /** What rules hold, and the acknowledgments that wait. */
  bars() {
    const { held, owed, ended } = this.run;
    const bar = (kind, { by, from, to }) => {
      const [top, bottom] = [this.y(from), this.y(Math.min(to, ended))];
      return bottom - top < 3 ? null : svg("rect", {
        // Who holds may owe, too: the hollow bar is seen around the filled one.
        class: kind, x: this.xs[by] - BAR - (kind === "owed" ? 3 : 0), y: top,
        width: 2 * BAR + (kind === "owed" ? 6 : 0), height: bottom - top, rx: 2,
      });
    };
    const lasting = (kind, said) => (it) => {
      const drawn = bar(kind, it);
      const lasts = Math.min(it.to, ended) - it.from;
      if (!drawn || (kind === "owed" && lasts < WORTH_SAYING)) return [];
      if (lasts < WORTH_SAYING || drawn.height.baseVal.value < WORDS_HEIGHT) return [drawn];
      return [drawn, ...this.beside(it.by, (this.y(it.from) + this.y(Math.min(it.to, ended))) / 2, `${kind} words`, [said, inTime(lasts)])];
    };
    const longFirst = (a, b) => b.to - b.from - (a.to - a.from);
    const [holds, debts] = [[...held].sort(longFirst), [...owed].sort(longFirst)];
    const filled = holds.flatMap(lasting("held", "held"));
    return [...debts.flatMap(lasting("owed", "ACK put off")), ...filled];
  }

  /** Lines of text in the gutter of a host, if it has room for them. */
  beside(by, y, kind, lines) {
    const room = by === 0 ? this.xs[0] : this.width - this.xs[1];
    const [top, bottom] = [y - lines.length * 7, y + lines.length * 7];
    const need = Math.max(...lines.map((line) => line.length)) * WORD_LETTER + BAR + 8;
    if (room < need || this.taken[by].some((it) => top < it.bottom && bottom > it.top)) return [];
    this.taken[by].push({ top, bottom });
    const x = this.xs[by] + (by === 0 ? -1 : 1) * (BAR + 6);
    return lines.map((line, at) => svg("text", {
      class: `${kind} ${by === 0 ? "before" : "after"}`, x, y: y + (at - (lines.length - 1) / 2) * 14 + 4,
    }, line));
  }

  /** What the programs write, a tick on the host's line. */
  calls() {
    const writes = this.run.calls.filter(({ is_write }) => is_write);
    return writes.flatMap(({ by, at, octets }) => {
      const y = this.y(at);
      const out = by === 0 ? -1 : 1;
      const tick = svg("line", { class: "write", x1: this.xs[by], x2: this.xs[by] + out * 9, y1: y, y2: y });
      return [tick, ...(writes.length > MANY ? [] : this.beside(by, y, "write-words", [`writes ${grouped(octets)}`]))];
    });
  }

  arrows() {
    const lines = this.run.frames.map((frame) => this.lineOf(frame));
    if (!this.run.is_part) this.labels.push({ x: this.xs[0], y: this.y(this.run.ended) + 18, half: 32 });
    return lines.map((line) => {
      const { frame, x1, y1, x2, y2, isUnderWay } = line;
      const { len, is_again } = frame;
      const kind = `arrow ${len > 0 ? "data" : "bare"}${isUnderWay ? " lost" : ""}${is_again ? " again" : ""}`;
      const group = svg("g", { class: kind }, svg("line", { x1, y1, x2, y2 }));
      if (isUnderWay && this.isLost(frame)) group.append(cross(x2, y2));
      else if (!isUnderWay) group.append(head(x1, y1, x2, y2));
      const label = labelOf(frame);
      const place = this.placeFor(label, line, lines);
      if (place) {
        this.labels.push(place);
        group.append(svg("text", { x: place.x, y: place.y }, label));
      }
      return group;
    });
  }

  /** The line of a segment; what has not arrived ends on its way. */
  lineOf(frame) {
    const { from, left, arrived } = frame;
    const [x1, far] = [this.xs[from], this.xs[1 - from]];
    const y1 = this.y(left);
    if (arrived !== null) return { frame, x1, y1, x2: far + (far > x1 ? -2 : 2), y2: this.y(arrived), isUnderWay: false };
    return { frame, x1, y1, x2: x1 + (far - x1) * 0.6, y2: Math.min(y1 + 26, PADDING.top + this.scale.height), isUnderWay: true };
  }

  /** A place beside a line where its label meets no other line and no other label; null if there is none. */
  placeFor(label, line, lines) {
    const half = (label.length * LETTER_WIDTH) / 2;
    for (const [share, beside] of PLACES) {
      const [x, y] = [line.x1 + (line.x2 - line.x1) * share, line.y1 + (line.y2 - line.y1) * share + beside];
      // Clear of both hosts' lines and the bars on them.
      if (x - half < this.xs[0] + BAR + 4 || x + half > this.xs[1] - BAR - 4) continue;
      const isMet = (it) => Math.abs(it.y - y) < LABEL_HEIGHT && Math.abs(it.x - x) < half + it.half + 4;
      const isCrossed = (it) => it !== line && crosses(it, x - half, x + half, y - LETTER_HEIGHT, y + 2);
      if (!this.labels.some(isMet) && !lines.some(isCrossed)) return { x, y, half };
    }
    return null;
  }

  /** Whether a segment that never arrived was overtaken, and is not only under way at the end. */
  isLost(frame) {
    return this.run.frames.some(({ from, left, arrived }) => from === frame.from && left > frame.left && arrived !== null);
  }

  end() {
    if (this.run.is_part) return [];
    const y = this.y(this.run.ended);
    return [
      svg("line", { class: "done", x1: this.xs[0] - BAR - 2, x2: this.xs[0] + BAR + 2, y1: y, y2: y }),
      svg("text", { class: "done-words", x: this.xs[0], y: y + 18 }, inTime(this.run.elapsed_ns ?? this.run.ended)),
    ];
  }

  /** Shows the picture as it is at a time. */
  at(time) {
    const y = this.y(time);
    this.past.setAttribute("height", time >= this.scale.end ? PADDING.top + this.scale.height + PADDING.bottom : y);
    this.cursor.setAttribute("y1", y);
    this.cursor.setAttribute("y2", y);
    this.cursor.classList.toggle("ended", time >= this.scale.end);
    const flying = this.run.frames.filter(({ left, arrived }) => arrived !== null && time > left && time < arrived);
    this.flying.replaceChildren(...flying.map(({ from, left, arrived, len }) => {
      const share = (y - this.y(left)) / (this.y(arrived) - this.y(left) || 1);
      const x = this.xs[from] + (this.xs[1 - from] - this.xs[from]) * share;
      return svg("circle", { class: len > 0 ? "data" : "bare", cx: x, cy: y, r: len > 0 ? 5 : 3.5 });
    }));
  }

  /** The whole picture in words, for those who do not see it. */
  told() {
    const { frames, ends, ended, elapsed_ns, is_part } = this.run;
    const data = frames.filter(({ len }) => len > 0);
    const hold = longestHold(this.run);
    const waits = hold && hold.lasted >= WORTH_SAYING
      ? ` The ${ends[hold.by]} holds ${plural(hold.octets, "octet")} for ${inTime(hold.lasted)}, because ${hold.said}.` : "";
    const course = is_part ? `in ${inTime(ended)} of a longer run` : `done after ${inTime(elapsed_ns ?? ended)}`;
    return `${ends[0]} and ${ends[1]}: ${plural(data.length, "segment")} with data, ${course}.${waits}`;
  }
}

/** Whether a line passes through a box. */
function crosses({ x1, y1, x2, y2 }, left, right, top, bottom) {
  const [from, to] = x1 < x2 ? [x1, x2] : [x2, x1];
  if (to < left || from > right || x1 === x2) return false;
  const at = (x) => y1 + ((y2 - y1) * (Math.min(to, Math.max(from, x)) - x1)) / (x2 - x1);
  const [one, other] = [at(left), at(right)];
  return Math.max(one, other) > top && Math.min(one, other) < bottom;
}

/** The head of an arrow, as a triangle in its direction. */
function head(x1, y1, x2, y2) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - ux * 9, y2 - uy * 9];
  return svg("path", { class: "head", d: `M${x2} ${y2}L${bx - uy * 4} ${by + ux * 4}L${bx + uy * 4} ${by - ux * 4}z` });
}

function cross(x, y) {
  return svg("path", { class: "cross", d: `M${x - 5} ${y - 5}l10 10M${x - 5} ${y + 5}l10 -10` });
}

// A conversation between two hosts as a time-sequence diagram: time goes down, segments are arrows, what waits
// is a bar on the line of the host that lets it wait.

const SVG = "http://www.w3.org/2000/svg";
const PADDING = { top: 34, bottom: 26 };
const BAR = 7; // half the width of a bar
const LABEL_HEIGHT = 13; // an arrow's label needs this much room below the one before
const LABEL_WIDTH = 46;
const MANY = 24; // arrows; with more, only data is labelled, and writes have no words
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
  draw(run, scale, width) {
    Object.assign(this, { run, scale, width, taken: [[], []], labels: [] });
    const gutter = Math.max(26, Math.min(92, width * 0.19));
    this.xs = [gutter, width - gutter];
    const height = PADDING.top + scale.height + PADDING.bottom;
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute("height", height);
    this.drawing.setAttribute("aria-label", this.told());
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
    if (room < 66 || this.taken[by].some((it) => top < it.bottom && bottom > it.top)) return [];
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
    return this.run.frames.flatMap((frame) => {
      const { from, left, arrived, len, is_again } = frame;
      const [x1, x2] = [this.xs[from], this.xs[1 - from]];
      const y1 = this.y(left);
      const isUnderWay = arrived === null;
      const isLost = isUnderWay && this.isLost(frame);
      const y2 = isUnderWay ? Math.min(y1 + 26, PADDING.top + this.scale.height) : this.y(arrived);
      const end = isUnderWay ? x1 + (x2 - x1) * 0.6 : x2 + (x2 > x1 ? -2 : 2);
      const kind = `arrow ${len > 0 ? "data" : "bare"}${isUnderWay ? " lost" : ""}${is_again ? " again" : ""}`;
      const group = svg("g", { class: kind }, svg("line", { x1, y1, x2: end, y2 }));
      if (isLost) group.append(cross(end, y2));
      else if (!isUnderWay) group.append(head(x1, y1, end, y2));
      if (len === 0 && this.run.frames.length > MANY) return [group];
      const share = len > 0 ? 0.34 : 0.5;
      const [x, y] = [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share - 4];
      const room = this.run.frames.length > MANY ? 2 * LABEL_HEIGHT : LABEL_HEIGHT;
      const isFree = this.labels.every((it) => Math.abs(it.y - y) >= room || Math.abs(it.x - x) > LABEL_WIDTH);
      if (isFree) {
        this.labels.push({ x, y });
        group.append(svg("text", { x, y }, labelOf(frame)));
      }
      return [group];
    });
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

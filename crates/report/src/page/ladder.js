// A ladder as a table: the time, and each segment on its way from one end to the other. Its axis is time: the
// room between two segments is as high as the time between them is long, besides the line that a segment's text
// needs. Where nothing moves for long, the room says so.

const LONG = 0.15; // of the whole exchange
const HEIGHT = 300; // of the whole time, in pixels
const SEEN = 2; // pixels; a shorter time has no room of its own

const LEFT_OUT = 2; // in place of who sent it

function ladderTable({ title, ends, steps }) {
  const whole = steps.length ? steps.at(-1)[0] - steps[0][0] : 0;
  const aside = (text, kind) => element("tr", { class: kind }, element("th", {}), element("td", { colspan: "2" }, text));
  const rows = steps.flatMap(([at, by, text], step) => {
    if (by === LEFT_OUT) return [aside(text, "left-out")];
    const cell = element("td", { class: by ? "to-right" : "to-left", colspan: "2" }, element("span", {}, text));
    cell.prepend(element("span", { class: "unseen" }, `${ends[by ? 0 : 1]} sends `));
    const row = element("tr", {}, element("th", { scope: "row" }, at.toFixed(3)), cell);
    const before = steps[step - 1];
    const wait = before && before[1] !== LEFT_OUT ? at - before[0] : 0;
    const height = whole > 0 ? (wait / whole) * HEIGHT : 0;
    if (height < SEEN) return [row];
    const idle = wait > whole * LONG;
    const room = aside(idle ? `${number.format(wait)} ms in which nothing moves` : "", idle ? "idle" : "room");
    room.style.height = `${height}px`;
    return [room, row];
  });
  const heads = ["ms", ...ends].map((head, at) => element("th", { scope: "col", class: ["", "", "right"][at] }, head));
  const table = element("table", { class: "ladder" }, element("caption", {}, title),
    element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table);
}

/** The ladders of a chart's points: a button each, and the one that is open. */
class Ladders {
  constructor(figure) {
    this.buttons = element("div", { class: "ladders", role: "group", "aria-label": "Segment by segment" });
    this.place = element("div", {});
    figure.append(this.buttons, this.place);
  }

  offer(points) {
    const having = points.filter(({ ladder }) => ladder);
    this.opens = new Map(having.map(({ ladder }) => {
      const button = element("button", { type: "button", "aria-pressed": "false" }, ladder.title);
      button.addEventListener("click", () => this.show(ladder === this.shown ? null : ladder));
      return [ladder, button];
    }));
    const before = having.length ? [element("span", {}, "Segment by segment:")] : [];
    this.buttons.replaceChildren(...before, ...this.opens.values());
    this.show(null);
  }

  show(ladder) {
    this.shown = ladder;
    for (const [it, button] of this.opens) button.setAttribute("aria-pressed", it === ladder);
    this.place.replaceChildren(...(ladder ? [ladderTable(ladder)] : []));
  }
}

// Draws each .plot figure from the JSON inside it, with a legend, and lets the reader hover, walk from point
// to point, zoom and move.

const REACH = 28; // how far from a point the pointer still means it, in pixels
const MIN_BAND = 8; // a shorter drag is a click
const HINT = "Drag to zoom, Shift and drag to move, double-click to see everything; Ctrl and the wheel or two fingers " +
  "zoom, too. In focus: arrow keys walk from point to point, with Shift they move, + and \u2212 zoom, 0 shows everything.";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.axes = new Axes(this.data.x, this.data.y);
    this.isRows = this.axes.rows.length > 0;
    this.series = this.data.series.map((series, which) => ({ ...series, which, points: this.pointsOf(series) }));
    this.hovered = null; // { which: index into shown, at: index into points }
    this.build();
    new Hands(this);
    const redraw = () => {
      this.draw();
      this.drawLegend();
    };
    new ResizeObserver(redraw).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    this.start();
  }

  // The data

  pointsOf({ x, y, end, said, ladders }) {
    const height = (value) => (this.isRows ? -(value + ROW_MIDDLE) : value);
    const points = this.data.xs[x].map((px, at) => ({ x: px, y: height(y[at]), end: end?.[at], said: said?.[at] }));
    for (const [at, ladder] of ladders ?? []) points[at].ladder = ladder;
    return points;
  }

  /** The series that are drawn. */
  get shown() {
    return this.series;
  }

  start() {
    this.cell = this.cellSize();
    this.ladders.offer(this.shown.flatMap(({ points }) => points));
    this.seeAll();
  }

  seeAll() {
    this.view = new View(this.extent(), this.isRows);
    this.looked();
  }

  /** The grid's steps, where there is one: the least distance between neighbours. */
  cellSize() {
    const points = this.shown.filter(({ mark }) => ["squares", "strokes"].includes(mark)).flatMap(({ points }) => points);
    const step = (values) => {
      const sorted = [...new Set(values)].sort((a, b) => a - b);
      return sorted.slice(1).reduce((least, value, i) => Math.min(least, value - sorted[i]), Infinity);
    };
    return { x: step(points.map((p) => p.x)), y: step(points.map((p) => p.y)) };
  }

  /** Everything, from zero on where zero is not far. */
  extent() {
    const ends = (of, wide) => this.shown.flatMap(({ mark, points }) =>
      points.flatMap((p) => (wide(mark) && p.end !== undefined ? [p[of], p.end] : [p[of]])));
    const xs = ends("x", (mark) => WIDE.includes(mark));
    const ys = ends("y", (mark) => mark === "bars");
    if (xs.length === 0) return { x0: 0, x1: 1, y0: 0, y1: 1 };
    const range = (values, cell) => {
      const high = values.reduce((a, b) => Math.max(a, b), 0);
      const low = values.reduce((a, b) => Math.min(a, b), high);
      const margin = Number.isFinite(cell) ? cell / 2 : (high - low || 1) * 0.05;
      return [low >= 0 && low < high / 2 && !Number.isFinite(cell) ? 0 : low - margin, high + margin];
    };
    const [x0, x1] = range(xs, this.cell.x);
    // The first row stands at the top.
    if (this.isRows) return { x0: Math.min(0, ...this.bounds(xs)), x1: this.bounds(xs)[1] * 1.01 || 1, y0: -this.axes.rows.length, y1: 0 };
    const [y0, y1] = range(ys, this.cell.y);
    const tops = this.data.lines.map((line) => this.lineAt(line, x1));
    return { x0, x1, y0, y1: Math.max(y1, ...tops) };
  }

  bounds(values) {
    return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
  }

  lineAt(line, x) {
    return line.at_zero + line.slope * x;
  }

  /** The line above which a point is marked. */
  get cutoff() {
    return this.data.above ? this.data.lines.at(-1) : undefined;
  }

  isMarked(point) {
    return this.cutoff !== undefined && point.y > this.lineAt(this.cutoff, point.x);
  }

  // The parts of the figure

  build() {
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-description": HINT });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.band = element("div", { class: "band", hidden: "" });
    this.stage = element("div", { class: "stage" }, this.canvas, this.band, this.tip);
    this.legend = element("ul", { class: "legend" });
    this.spoken = element("div", { class: "unseen", "aria-live": "polite" });
    this.whole = element("button", { type: "button", class: "whole", hidden: "" }, "Show everything");
    this.whole.addEventListener("click", () => this.seeAll());
    this.stage.append(this.whole);
    this.figure.append(this.stage, this.legend, element("p", { class: "hint" }, HINT), this.spoken);
    this.ladders = new Ladders(this.figure);
    if (this.isRows) this.canvas.style.height = `${this.axes.rows.length * ROW_HEIGHT + MARGIN.top + MARGIN.bottom}px`;
    this.describe();
  }

  /** What the legend says of a series; nothing where its row does. */
  nameOf(series) {
    return series.name;
  }

  describe() {
    const bands = this.data.bands.map(({ name, tone }) => ({ name, tone, mark: "band" }));
    const told = [...this.shown, ...bands].map((it) => ({ it, name: this.nameOf(it) }))
      .filter(({ name }) => name && !this.axes.rows.includes(name));
    this.samples = told.map(({ it, name }) => ({ it, name, sample: element("canvas", { width: "36", height: "28", "aria-hidden": "true" }) }));
    this.legend.replaceChildren(...this.samples.map(({ name, sample }) => element("li", {}, sample, element("span", {}, name))));
    const label = [this.figure.getAttribute("aria-label"), ...told.map(({ name }) => name), ...this.axes.rows];
    this.canvas.setAttribute("aria-label", label.join(". "));
    this.drawLegend();
  }

  // What the reader does

  /** Where the reader is, if on a point. */
  get place() {
    return this.hovered && this.shown[this.hovered.which].points[this.hovered.at];
  }

  /** After the view has changed. */
  looked() {
    this.whole.hidden = this.view.isWhole;
    this.hover(this.hovered);
  }

  zoom(factor, at) {
    this.view.zoom(factor, at);
    this.looked();
  }

  /** Goes so many parts of what is seen to the right and upwards. */
  move(right, up) {
    const { x0, x1, y0, y1 } = this.view;
    this.view.move(right * (x1 - x0), up * (y1 - y0));
    this.looked();
  }

  /** The point that the pointer means, if one is near. */
  closest(at) {
    let best = null;
    let nearest = REACH ** 2;
    this.shown.forEach(({ mark, points }, which) => points.forEach((point, index) => {
      if (!isSeen(this.view, mark, point)) return;
      // What lies on a thread is meant rather than the thread.
      const far = distance(placeOf(this.view, mark, point), at) + (mark === "threads" ? 40 : 0);
      if (far < nearest) [best, nearest] = [{ which, at: index }, far];
    }));
    return best;
  }

  /** To the next point of the series, or of the next series. */
  walk(step) {
    let { which, at } = this.hovered ?? { which: step > 0 ? 0 : this.shown.length - 1, at: null };
    at = at === null ? (step > 0 ? 0 : this.shown[which].points.length - 1) : at + step;
    while (this.shown[which] && !this.shown[which].points[at]) {
      which += step;
      at = step > 0 ? 0 : (this.shown[which]?.points.length ?? 0) - 1;
    }
    if (this.shown[which]) this.stepTo({ which, at });
  }

  /** To the next series, at about the same place. */
  hop(step) {
    if (!this.hovered) return;
    const { x } = this.shown[this.hovered.which].points[this.hovered.at];
    const count = this.shown.length;
    const which = (this.hovered.which + step + count) % count;
    const { points } = this.shown[which];
    if (points.length === 0) return;
    const found = points.findIndex((point) => point.x >= x);
    this.stepTo({ which, at: found < 0 ? points.length - 1 : found });
  }

  stepTo(hovered) {
    this.view.reveal(this.shown[hovered.which].points[hovered.at]);
    this.hovered = hovered;
    this.looked();
    this.spoken.textContent = this.tip.textContent;
  }

  /** A point was clicked, or entered. */
  meant(hovered) {
    this.hover(hovered);
    if (this.place?.ladder) this.ladders.show(this.place.ladder);
  }

  hover(hovered) {
    this.hovered = hovered;
    this.draw();
    if (!hovered) return void (this.tip.hidden = true);
    const series = this.shown[hovered.which];
    this.showTip(placeOf(this.view, series.mark, series.points[hovered.at]), this.tell(series, series.points[hovered.at]));
  }

  /** What is said of a point, a line each. */
  tell(series, point) {
    const { x, y, lines, bands } = this.data;
    const row = this.isRows ? this.axes.rows[Math.floor(-point.y)] : "";
    const opens = point.ladder ? "a click or Enter shows it segment by segment" : "";
    const inside = bands.filter(({ from, to }) => point.x >= from && point.x <= to).map(({ name }) => name);
    if (point.said) return [row, point.said, ...inside].filter(Boolean);
    const part = (axis, value) => `${axis.name}: ${told(axis, value)} ${axis.unit}`.trim();
    const verdict = this.cutoff ? `: ${this.isMarked(point) ? "" : "not "}${this.data.above}` : "";
    return [this.labelOf(series), part(x, point.x), this.isRows ? "" : part(y, point.y) + verdict,
      ...lines.map((line) => `${line.name}: ${exact.format(this.lineAt(line, point.x))} ${y.unit}`), ...inside, opens].filter(Boolean);
  }

  labelOf(series) {
    return series.name;
  }

  showTip({ px, py, qx }, lines) {
    this.tip.textContent = lines.join("\n");
    this.tip.hidden = false;
    const { left, width } = this.view.box;
    const from = Math.min(Math.max(px, left), left + width);
    const beyond = from + 14 + this.tip.offsetWidth > this.stage.clientWidth;
    const [before, after] = [from - 14 - this.tip.offsetWidth, Math.min(Math.max(qx, left), left + width) + 14];
    this.tip.style.left = `${Math.max(0, beyond ? before : Math.min(after, this.stage.clientWidth - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${Math.min(Math.max(0, py - 20), this.canvas.clientHeight - this.tip.offsetHeight)}px`;
  }

  // The drawing

  get colour() {
    const style = getComputedStyle(this.figure);
    return (name) => style.getPropertyValue(`--${name}`).trim();
  }

  /** A tone's colour, or that of the place in the order; where rows have names it would say nothing. */
  colourOf({ mark, tone, which = 0 }, colour) {
    if (tone !== "plain") return colour(tone);
    if (mark === "threads") return colour("soft");
    return colour(`curve-${this.isRows ? 0 : which % SERIES_COLOURS}`);
  }

  /** Clears a canvas for as many dots as its screen has; returns the pen. */
  pen(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    return pen;
  }

  draw() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!this.view || !clientWidth) return;
    const pen = this.pen(this.canvas, clientWidth, clientHeight);
    const { colour, view } = this;
    pen.font = `12px ${getComputedStyle(this.figure).fontFamily}`;
    view.box = this.axes.box(pen, view, clientWidth, clientHeight);
    this.axes.draw(pen, view, colour);
    pen.save();
    const { left, top, width, height } = view.box;
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    this.drawAreas(pen, colour);
    for (const series of inDrawingOrder(this.shown)) {
      pen.strokeStyle = this.colourOf(series, colour);
      pen.fillStyle = pen.strokeStyle;
      drawSeries(pen, view, series, this.cell);
    }
    pen.strokeStyle = colour("ink");
    for (const point of this.shown.flatMap(({ points }) => points)) {
      if (point.ladder && view.sees(point)) drawMark(pen, placeOf(view, "rings", point), "rings", {}, 0);
    }
    this.drawLines(pen, colour);
    this.drawHovered(pen, colour);
    pen.restore();
  }

  /** Bands, and all that is above the cutoff. */
  drawAreas(pen, colour) {
    const { view } = this;
    const { top, height } = view.box;
    for (const band of this.data.bands) {
      const [from, to] = [band.from, Math.min(band.to, view.x1)].map((x) => view.px(x));
      pen.globalAlpha = 0.1;
      pen.fillStyle = band.tone === "plain" ? colour("soft") : colour(band.tone);
      pen.fillRect(from, top, to - from, height);
    }
    if (this.cutoff) {
      const edge = (x) => Math.min(this.lineAt(this.cutoff, x), view.y1);
      pen.globalAlpha = 0.07;
      pen.fillStyle = colour("far");
      pen.beginPath();
      for (const [x, y] of [[view.x0, view.y1], [view.x0, edge(view.x0)], [view.x1, edge(view.x1)], [view.x1, view.y1]]) {
        pen.lineTo(view.px(x), view.py(y));
      }
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  drawLines(pen, colour) {
    const { view } = this;
    const { left, top, width } = view.box;
    pen.lineJoin = "round";
    for (const line of this.data.lines) {
      pen.strokeStyle = colour("ink");
      pen.lineWidth = 1.5;
      pen.setLineDash(line.dashed ? [7, 5] : []);
      pen.beginPath();
      pen.moveTo(view.px(view.x0), view.py(this.lineAt(line, view.x0)));
      pen.lineTo(view.px(view.x1), view.py(this.lineAt(line, view.x1)));
      pen.stroke();
      pen.setLineDash([]);

      // The name stands on the line's right end, or where the line leaves through the top.
      const leaves = line.slope > 0 && this.lineAt(line, view.x1) > view.y1;
      const end = leaves ? (view.y1 - line.at_zero) / line.slope : view.x1;
      if (end < view.x0) continue;
      const name = line === this.cutoff ? `${line.name}: above it, ${this.data.above}` : line.name;
      pen.textAlign = "right";
      pen.textBaseline = "bottom";
      const px = Math.max(Math.min(view.px(end), left + width) - 6, left + pen.measureText(name).width + 6);
      const py = Math.max(view.py(this.lineAt(line, end)) - 5, top + 16);
      pen.strokeStyle = colour("paper");
      pen.lineWidth = 4;
      pen.strokeText(name, px, py);
      pen.fillStyle = colour("ink");
      pen.fillText(name, px, py);
    }
  }

  drawHovered(pen, colour) {
    if (!this.hovered) return;
    const { left, top, height } = this.view.box;
    const series = this.shown[this.hovered.which];
    const { px, py, qx, qy } = placeOf(this.view, series.mark, series.points[this.hovered.at]);
    pen.strokeStyle = colour("soft");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(px, py);
    pen.lineTo(px, top + height);
    if (!this.isRows) {
      pen.moveTo(px, py);
      pen.lineTo(left, py);
    }
    pen.stroke();
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    if (IN_ROWS.includes(series.mark)) pen.rect(px - 3, py - MARK_HEIGHT / 2 - 2, qx - px + 6, MARK_HEIGHT + 4);
    else pen.arc((px + qx) / 2, (py + qy) / 2, Math.max(6, Math.abs(qy - py) / 2 + 4), 0, 2 * Math.PI);
    pen.stroke();
  }

  drawLegend() {
    const { colour } = this;
    for (const { it, sample } of this.samples) {
      const pen = this.pen(sample, 18, 14);
      pen.fillStyle = it.mark === "band" && it.tone === "plain" ? colour("soft") : this.colourOf(it, colour);
      pen.strokeStyle = pen.fillStyle;
      if (it.mark === "band") {
        pen.globalAlpha = 0.2;
        pen.fillRect(0, 0, 18, 14);
      } else {
        drawSample(pen, it.mark, it.which);
      }
    }
  }
}

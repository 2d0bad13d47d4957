// Draws each .chart figure from the JSON inside it: its curves, a legend, and what stands under the
// pointer. Curves differ in their marks as well as in their colours.

const CURVE_COLOURS = 5; // --curve-0 to --curve-4 of the style sheet
const ROW_HEIGHT = 40; // of a row with its name above it, in pixels
const STROKE_HEIGHT = 16;
const STROKE_MIDDLE = 27 / ROW_HEIGHT;

function isLine(mark) {
  return ["line", "dashed", "steps"].includes(mark);
}

class Chart extends Picture {
  constructor(figure) {
    super();
    this.section = figure;
    const { x, y, curves } = JSON.parse(figure.querySelector("script").textContent);
    this.data = { x, y, lines: [] };
    this.isRows = curves.length > 0 && curves.every(({ mark }) => mark === "row");
    this.shown = curves.map((curve, which) => ({
      ...curve, points: curve.points.map(([px, py]) => ({ x: px, y: this.isRows ? -(which + STROKE_MIDDLE) : py })),
    }));
    this.cell = this.cellSize();
    this.view = this.extent();
    this.hovered = null;
    this.build();
    this.listen();
  }

  /** The grid's steps, where there are squares: the least distance between neighbours. */
  cellSize() {
    const points = this.shown.filter(({ mark }) => mark === "squares" || mark === "row").flatMap(({ points }) => points);
    const step = (values) => {
      const sorted = [...new Set(values)].sort((a, b) => a - b);
      return Math.min(...sorted.slice(1).map((value, i) => value - sorted[i]), Infinity);
    };
    return { x: step(points.map((p) => p.x)), y: step(points.map((p) => p.y)) };
  }

  /** Everything, from zero on where zero is not far. */
  extent() {
    const points = this.shown.flatMap((curve) => curve.points);
    const range = (values, cell) => {
      const high = Math.max(...values, 0);
      const low = Math.min(...values, high);
      const margin = Number.isFinite(cell) ? cell / 2 : (high - low || 1) * 0.05;
      return [low >= 0 && low < high / 2 && !Number.isFinite(cell) ? 0 : low - margin, high + margin];
    };
    if (points.length === 0) return { x0: 0, x1: 1, y0: 0, y1: 1 };
    // The first row stands at the top.
    if (this.isRows) return { x0: 0, x1: Math.max(...points.map((p) => p.x)) * 1.01, y0: -this.shown.length, y1: 0 };
    const [x0, x1] = range(points.map((p) => p.x), this.cell.x);
    const [y0, y1] = range(points.map((p) => p.y), this.cell.y);
    return { x0, x1, y0, y1 };
  }

  build() {
    const label = this.section.getAttribute("aria-label");
    const names = this.shown.map(({ name, points }) => `${name}: ${points.length} points`);
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": `${label}. ${names.join("; ")}` });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.stage = element("div", { class: "stage" }, this.canvas, this.tip);
    this.spoken = element("div", { class: "unseen", "aria-live": "polite" });
    const legend = element("ul", { class: "legend" }, ...this.shown.map((curve, which) => {
      const sample = element("canvas", { width: "36", height: "28", "aria-hidden": "true" });
      this.samples = [...(this.samples ?? []), { sample, curve, which }];
      return element("li", {}, sample, element("span", {}, curve.name));
    }));
    this.section.append(this.stage, ...(this.isRows ? [] : [legend]), this.spoken);
    if (!this.isRows) return;
    this.section.classList.add("rows");
    this.canvas.style.height = `${this.shown.length * ROW_HEIGHT + MARGIN.top + MARGIN.bottom}px`;
  }

  listen() {
    const redraw = () => {
      this.draw();
      this.drawLegend();
    };
    new ResizeObserver(redraw).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.hover(this.closest(this.where(event))));
    canvas.addEventListener("pointerdown", (event) => this.hover(this.closest(this.where(event))));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("blur", () => this.hover(null));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") this.hover(null);
      if (!step) return;
      event.preventDefault();
      this.walk(step);
    });
  }

  /** To the next point, curve after curve. */
  walk(step) {
    const all = this.shown.flatMap(({ points }, which) => points.map((_, at) => ({ which, at })));
    const now = this.hovered;
    const from = now ? all.findIndex(({ which, at }) => which === now.which && at === now.at) : step > 0 ? -1 : all.length;
    this.hover(all[from + step] ?? now);
    this.spoken.textContent = this.tip.textContent;
  }

  hover(hovered) {
    this.hovered = hovered;
    this.draw();
    if (!hovered) return this.hideTip();
    const curve = this.shown[hovered.which];
    const point = curve.points[hovered.at];
    const part = (axis, value) => `${axis.name}: ${exact.format(value)} ${axis.unit}`.trim();
    this.showTip(point, [curve.name, part(this.data.x, point.x), ...(this.isRows ? [] : [part(this.data.y, point.y)])]);
  }

  /** Rows have their names; where there are more of them than colours, colour would say nothing. */
  colourOf(which, colour) {
    if (this.isRows && this.shown.length > CURVE_COLOURS) return colour("curve-0");
    return colour(`curve-${which % CURVE_COLOURS}`);
  }

  drawPoints(pen, colour, { mark, points }, which) {
    pen.fillStyle = this.colourOf(which, colour);
    pen.strokeStyle = pen.fillStyle;
    if (mark === "row") return this.drawRow(pen, points, which);
    if (isLine(mark)) return this.drawCurve(pen, points, mark);
    for (const point of points) this.drawMark(pen, this.pixel(point), mark, which);
  }

  drawCurve(pen, points, mark) {
    pen.lineWidth = 1.8;
    pen.setLineDash(mark === "dashed" ? [7, 5] : []);
    pen.beginPath();
    points.map((point) => this.pixel(point)).forEach(({ px, py }, at, pixels) => {
      if (mark === "steps" && at > 0) pen.lineTo(px, pixels[at - 1].py);
      pen.lineTo(px, py);
    });
    pen.stroke();
    pen.setLineDash([]);
  }

  /** Strokes as wide as their distance, so that neighbours make a band. */
  drawRow(pen, points, which) {
    const { x0, x1 } = this.view;
    const wide = Math.max(1.2, Math.min(6, (this.cell.x / (x1 - x0)) * this.plot.width + 0.5));
    for (const point of points) {
      const { px, py } = this.pixel(point);
      pen.fillRect(px - wide / 2, py - STROKE_HEIGHT / 2, wide, STROKE_HEIGHT);
    }
  }

  // The axis of rows: each row's name stands above its strokes, where it has room at any width.

  widestLabel(pen) {
    return this.isRows ? -MARGIN.left : super.widestLabel(pen);
  }

  drawYAxis(pen, colour) {
    if (!this.isRows) return super.drawYAxis(pen, colour);
    const { left, top, width } = this.plot;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    this.shown.forEach(({ name }, which) => {
      const py = top + which * ROW_HEIGHT;
      pen.fillStyle = colour("ink");
      pen.fillText(name, left, py + 9);
      pen.fillStyle = colour("shade");
      pen.fillRect(left, py + STROKE_MIDDLE * ROW_HEIGHT - STROKE_HEIGHT / 2, width, STROKE_HEIGHT);
    });
  }

  drawMark(pen, { px, py }, mark, which) {
    if (mark === "squares") return this.drawSquare(pen, { px, py }, which);
    pen.lineWidth = 1.4;
    pen.beginPath();
    if (mark === "crosses") {
      pen.moveTo(px - 3, py - 3);
      pen.lineTo(px + 3, py + 3);
      pen.moveTo(px - 3, py + 3);
      pen.lineTo(px + 3, py - 3);
      pen.stroke();
    } else {
      pen.arc(px, py, 2.2, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  /** Squares of different curves differ in form: whole, hollow, small, crossed. */
  drawSquare(pen, { px, py }, which) {
    const { width, height } = this.plot;
    const { x0, x1, y0, y1 } = this.view;
    const wide = Math.min((this.cell.x / (x1 - x0)) * width, 40) * 0.86;
    const high = Math.min((this.cell.y / (y1 - y0)) * height, 40) * 0.86;
    const [left, top] = [px - wide / 2, py - high / 2];
    pen.lineWidth = 1.2;
    const forms = [
      () => pen.fillRect(left, top, wide, high),
      () => pen.strokeRect(left + 0.6, top + 0.6, wide - 1.2, high - 1.2),
      () => pen.fillRect(px - wide / 4, py - high / 4, wide / 2, high / 2),
      () => {
        pen.beginPath();
        pen.moveTo(left, top);
        pen.lineTo(left + wide, top + high);
        pen.moveTo(left, top + high);
        pen.lineTo(left + wide, top);
        pen.stroke();
      },
    ];
    forms[which % forms.length]();
  }

  drawLegend() {
    const style = getComputedStyle(this.section);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const scale = 2;
    for (const { sample, curve, which } of this.samples) {
      const pen = sample.getContext("2d");
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, 18, 14);
      pen.fillStyle = this.colourOf(which, colour);
      pen.strokeStyle = pen.fillStyle;
      if (isLine(curve.mark)) {
        pen.lineWidth = 1.8;
        pen.setLineDash(curve.mark === "dashed" ? [5, 3] : []);
        pen.beginPath();
        pen.moveTo(0, 7);
        pen.lineTo(18, 7);
        pen.stroke();
        pen.setLineDash([]);
      } else if (curve.mark === "squares") {
        this.drawSample(pen, which);
      } else {
        this.drawMark(pen, { px: 9, py: 7 }, curve.mark, which);
      }
    }
  }

  drawSample(pen, which) {
    const { cell, view, plot } = this;
    // A legend's square has 12 pixels, whatever the grid's have.
    const side = 12 / 0.86;
    this.cell = { x: (side * (view.x1 - view.x0)) / plot.width, y: (side * (view.y1 - view.y0)) / plot.height };
    this.drawSquare(pen, { px: 9, py: 7 }, which);
    this.cell = cell;
  }
}

for (const figure of document.querySelectorAll(".chart")) new Chart(figure);

// Draws each .plot section from the JSON inside it and lets the reader choose, compare, hover, zoom
// and walk through it. The drawing itself is picture.js, which stands before this in the page.

const MIN_BAND = 8; // a shorter drag is a click

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class Explorer extends Picture {
  constructor(section) {
    super();
    this.section = section;
    const data = JSON.parse(section.querySelector("script").textContent);
    this.data = data;
    for (const series of data.series) {
      const xs = data.xs[series.x];
      series.points = xs.map((x, i) => ({ x, y: series.y[i] / 1000 })).sort((a, b) => a.x - b.x);
    }
    this.chosen = data.series[0];
    this.other = null;
    this.hovered = null; // { which: 0 or 1, at: index into points }
    this.build();
    this.adoptButtons();
    this.listen();
    this.choose(this.chosen);
  }

  // What is shown

  get shown() {
    return this.other ? [this.chosen, this.other] : [this.chosen];
  }

  /** The series that answers `facet` with `key` and agrees with `keys` on most other facets. */
  nearest(keys, facet, key) {
    let best = null;
    let agreed = -1;
    for (const series of this.data.series) {
      if (series.keys[facet] !== key) continue;
      const count = series.keys.filter((k, f) => k === keys[f]).length;
      if (count > agreed) [best, agreed] = [series, count];
    }
    return best;
  }

  choose(series) {
    this.chosen = series;
    this.selects.forEach((select, facet) => (select.value = series.keys[facet]));
    for (const [id, button] of this.buttons) button.setAttribute("aria-pressed", id === series.id);
    this.compareWith(this.compareSelect.value);
  }

  compareWith(key) {
    const { compare } = this.data;
    this.other = key && key !== this.chosen.keys[compare] ? this.nearest(this.chosen.keys, compare, key) : null;
    this.describe();
    this.reset();
  }

  reset() {
    const points = this.shown.flatMap((series) => series.points);
    const x1 = Math.max(1, ...points.map((p) => p.x)) * 1.01;
    const tops = this.data.lines.map((line) => this.lineAt(line, x1));
    const y1 = Math.max(0.001, ...points.map((p) => p.y), ...tops) * 1.12;
    this.full = { x0: 0, x1, y0: 0, y1 };
    this.look({ ...this.full });
  }

  look(view) {
    const { full } = this;
    view.x0 = Math.max(full.x0, view.x0);
    view.x1 = Math.min(full.x1, view.x1);
    view.y0 = Math.max(full.y0, view.y0);
    view.y1 = Math.min(full.y1, view.y1);
    if (view.x1 - view.x0 < full.x1 * 1e-5 || view.y1 - view.y0 < full.y1 * 1e-5) return;
    this.view = view;
    this.hover(null);
    const whole = ["x0", "x1", "y0", "y1"].every((k) => view[k] === full[k]);
    this.zoomOut.disabled = whole;
    this.zoomReset.disabled = whole;
  }

  zoom(factor, centre) {
    const { x0, x1, y0, y1 } = this.view;
    const x = centre?.x ?? (x0 + x1) / 2;
    const y = centre?.y ?? (y0 + y1) / 2;
    this.look({
      x0: x - (x - x0) * factor, x1: x + (x1 - x) * factor,
      y0: y - (y - y0) * factor, y1: y + (y1 - y) * factor,
    });
  }

  // The parts of the section

  build() {
    const { data } = this;
    const controls = element("div", { class: "controls" });
    const select = (label, keys) => {
      const made = element("select", {}, ...keys.map((key) => element("option", { value: key }, key || "nothing")));
      controls.append(element("label", {}, label, made));
      return made;
    };
    const answers = data.facets.map((_, facet) => [...new Set(data.series.map((s) => s.keys[facet]))]);
    this.selects = data.facets.map((name, facet) => select(name, answers[facet]));
    this.compareSelect = select("Compare with", ["", ...answers[data.compare]]);

    const button = (text, label, action) => {
      const made = element("button", { type: "button", "aria-label": label, title: label }, text);
      made.addEventListener("click", action);
      return made;
    };
    this.zoomOut = button("\u2212", "Zoom out", () => this.zoom(2));
    this.zoomReset = button("Reset", "Show everything", () => this.reset());
    controls.append(element("div", { class: "zoom" },
      button("+", "Zoom in", () => this.zoom(0.5)), this.zoomOut, this.zoomReset));

    this.canvas = element("canvas", { tabindex: "0", role: "img" });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.band = element("div", { class: "band", hidden: "" });
    this.stage = element("div", { class: "stage" }, this.canvas, this.band, this.tip);
    this.legend = element("ul", { class: "legend" });
    this.spoken = element("div", { class: "unseen", "aria-live": "polite" });
    const hint = element("p", { class: "hint" },
      "Drag to zoom, Shift and drag to move, double-click to see everything; Ctrl and the wheel zoom too. " +
      "With the plot in focus, the arrow keys walk from transfer to transfer, + and \u2212 zoom, 0 resets.");
    this.section.append(controls, this.stage, this.legend, hint, this.spoken);
  }

  /** Entries of the page's tables that name a series of this plot open it. */
  adoptButtons() {
    const mine = new Map(this.data.series.map((series) => [series.id, series]));
    this.buttons = [...document.querySelectorAll("button[data-opens]")]
      .map((button) => [button.dataset.opens, button])
      .filter(([id]) => mine.has(id));
    for (const [id, button] of this.buttons) {
      button.addEventListener("click", () => {
        this.choose(mine.get(id));
        this.section.scrollIntoView({ block: "nearest", behavior: "smooth" });
      });
    }
  }

  describe() {
    const told = this.shown.map((series) => {
      const marked = series.points.filter((p) => this.isMarked(p)).length;
      const sorted = series.points.map((p) => p.y).sort((a, b) => a - b);
      const share = number.format((100 * marked) / sorted.length);
      const name = series.keys.map((key, f) => (f === this.data.compare ? key : `${this.data.facets[f].toLowerCase()} ${key}`)).join(", ");
      return `${name}: ${number.format(marked)} of ${number.format(sorted.length)} ${this.data.marked} (${share}%), ` +
        `median ${number.format(sorted[sorted.length >> 1])} ${this.data.y.unit}, longest ${number.format(sorted.at(-1))} ${this.data.y.unit}`;
    });
    const mark = ['<circle cx="7" cy="7" r="4" fill="var(--near)"/>',
      '<rect x="3" y="3" width="8" height="8" fill="none" stroke="var(--far)" stroke-width="1.6"/>'];
    this.legend.replaceChildren(...told.map((text, which) => {
      const item = element("li", {}, element("span", {}, text));
      item.insertAdjacentHTML("afterbegin", `<svg width="14" height="14" aria-hidden="true">${mark[which]}</svg>`);
      return item;
    }));
    this.canvas.setAttribute("aria-label", `${this.section.getAttribute("aria-label")}. ${told.join(". ")}`);
  }

  // What the reader does

  listen() {
    this.selects.forEach((select, facet) => select.addEventListener("change", () => {
      this.choose(this.nearest(this.chosen.keys, facet, select.value));
    }));
    this.compareSelect.addEventListener("change", () => this.compareWith(this.compareSelect.value));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());

    const { canvas } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { from: this.where(event), moves: event.shiftKey, view: this.view };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const to = this.where(event);
      if (!drag) return this.hover(this.closest(to));
      if (drag.moves) return this.pan(drag, to);
      this.showBand(drag.from, to);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const { from, moves } = drag;
      const to = this.where(event);
      drag = null;
      this.band.hidden = true;
      if (moves) return;
      if (Math.abs(to.px - from.px) < MIN_BAND) return this.hover(this.closest(to));
      this.lookAt(from, to);
    });
    canvas.addEventListener("pointercancel", () => {
      drag = null;
      this.band.hidden = true;
    });
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !drag) this.hover(null);
    });
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("blur", () => this.hover(null));
    canvas.addEventListener("wheel", (event) => {
      // The plain wheel belongs to the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.where(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const actions = {
      ArrowRight: () => this.walk(1), ArrowLeft: () => this.walk(-1),
      ArrowUp: () => this.hop(), ArrowDown: () => this.hop(),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      0: () => this.reset(), Escape: () => this.hover(null),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  /** To the next point of the same series that can be seen. */
  walk(step) {
    const which = this.hovered?.which ?? 0;
    const { points } = this.shown[which];
    let at = this.hovered ? this.hovered.at + step : step > 0 ? 0 : points.length - 1;
    while (points[at] && !this.isSeen(points[at])) at += step;
    if (points[at]) this.hover({ which, at }, true);
  }

  /** To the other series, at about the same place. */
  hop() {
    if (!this.other || !this.hovered) return;
    const { x } = this.shown[this.hovered.which].points[this.hovered.at];
    const which = 1 - this.hovered.which;
    const at = this.shown[which].points.findIndex((p) => p.x >= x);
    if (at >= 0) this.hover({ which, at }, true);
  }

  pan({ from, view }, to) {
    const dx = Math.min(Math.max(((from.px - to.px) / this.plot.width) * (view.x1 - view.x0),
      this.full.x0 - view.x0), this.full.x1 - view.x1);
    const dy = Math.min(Math.max(((to.py - from.py) / this.plot.height) * (view.y1 - view.y0),
      this.full.y0 - view.y0), this.full.y1 - view.y1);
    this.look({ x0: view.x0 + dx, x1: view.x1 + dx, y0: view.y0 + dy, y1: view.y1 + dy });
  }

  /** Zooms to what was dragged over; a flat drag keeps the whole height. */
  lookAt(from, to) {
    const flat = Math.abs(to.py - from.py) < MIN_BAND;
    this.look({
      x0: Math.min(from.x, to.x), x1: Math.max(from.x, to.x),
      y0: flat ? this.view.y0 : Math.min(from.y, to.y), y1: flat ? this.view.y1 : Math.max(from.y, to.y),
    });
  }

  showBand(from, to) {
    const { left, top, width, height } = this.plot;
    const inside = (v, low, size) => Math.min(Math.max(v, low), low + size);
    const flat = Math.abs(to.py - from.py) < MIN_BAND;
    const [xa, xb] = [from.px, to.px].map((v) => inside(v, left, width)).sort((a, b) => a - b);
    const [ya, yb] = flat ? [top, top + height] : [from.py, to.py].map((v) => inside(v, top, height)).sort((a, b) => a - b);
    Object.assign(this.band.style, { left: `${xa}px`, width: `${xb - xa}px`, top: `${ya}px`, height: `${yb - ya}px` });
    this.band.hidden = false;
    this.tip.hidden = true;
  }

  hover(hovered, speak = false) {
    this.hovered = hovered;
    this.draw();
    if (!hovered) return this.hideTip();
    const series = this.shown[hovered.which];
    const point = series.points[hovered.at];
    const verdict = this.isMarked(point) ? this.data.marked : `not ${this.data.marked}`;
    const lines = this.data.lines.map((line) => `${line.name}: ${exact.format(this.lineAt(line, point.x))} ${this.data.y.unit}`);
    this.showTip(point, [
      `${series.keys[this.data.compare]}, ${exact.format(point.x)} ${this.data.x.unit}`,
      `${exact.format(point.y)} ${this.data.y.unit}: ${verdict}`, ...lines]);
    if (speak) this.spoken.textContent = this.tip.textContent;
  }
}

for (const section of document.querySelectorAll(".plot:not(.chart)")) new Explorer(section);

// What mouse, wheel, fingers and keys do to a chart.

class Hands {
  constructor(chart) {
    this.chart = chart;
    this.pointers = new Map(); // that are down, by id
    this.drag = null; // { from, moves }
    const { canvas } = chart;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.lift(event));
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !this.drag) chart.hover(null);
    });
    canvas.addEventListener("dblclick", () => chart.seeAll());
    canvas.addEventListener("blur", () => chart.hover(null));
    canvas.addEventListener("wheel", (event) => {
      // The plain wheel belongs to the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      chart.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.where(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  where({ clientX, clientY }) {
    const box = this.chart.canvas.getBoundingClientRect();
    return this.chart.view.at(clientX - box.left, clientY - box.top);
  }

  down(event) {
    if (event.button !== 0) return;
    this.chart.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.where(event));
    const moves = event.shiftKey || (event.pointerType === "touch" && !this.chart.view.isWhole);
    this.drag = this.pointers.size === 1 ? { from: this.where(event), moves } : null;
  }

  moved(event) {
    const { chart } = this;
    const to = this.where(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) return chart.hover(chart.closest(to));
    if (this.pointers.size === 2) return this.pinch(event.pointerId, last, to);
    if (this.drag?.moves) {
      this.shift(last, to);
      this.pointers.set(event.pointerId, this.where(event));
    } else if (this.drag && event.pointerType !== "touch") {
      this.showBand(this.drag.from, to);
    }
  }

  up(event) {
    const { chart, drag } = this;
    const to = this.where(event);
    this.lift(event);
    if (!drag) return;
    const far = Math.hypot(to.px - drag.from.px, to.py - drag.from.py) >= MIN_BAND;
    if (!far) return chart.meant(chart.closest(to));
    if (!drag.moves && event.pointerType !== "touch" && Math.abs(to.px - drag.from.px) >= MIN_BAND) this.lookAt(drag.from, to);
  }

  lift(event) {
    this.pointers.delete(event.pointerId);
    this.drag = null;
    this.chart.band.hidden = true;
  }

  /** Two fingers: what is between them grows with their distance and goes where they go. */
  pinch(id, last, to) {
    const { view } = this.chart;
    const [, other] = [...this.pointers].find(([key]) => key !== id);
    const apart = (a) => Math.max(20, Math.hypot(a.px - other.px, a.py - other.py));
    const middle = view.at((to.px + other.px) / 2, (to.py + other.py) / 2);
    view.zoom(apart(last) / apart(to), middle);
    this.pointers.set(id, to);
    this.shift({ px: last.px, py: last.py }, { px: (last.px + to.px) / 2, py: (last.py + to.py) / 2 });
  }

  shift(from, to) {
    const { width, height } = this.chart.view.box;
    this.chart.move((from.px - to.px) / width, (to.py - from.py) / height);
  }

  /** Zooms to what was dragged over; a flat drag keeps the whole height. */
  lookAt(from, to) {
    const { view } = this.chart;
    const flat = Math.abs(to.py - from.py) < MIN_BAND;
    view.look({
      x0: Math.min(from.x, to.x), x1: Math.max(from.x, to.x),
      y0: flat ? view.y0 : Math.min(from.y, to.y), y1: flat ? view.y1 : Math.max(from.y, to.y),
    });
    this.chart.looked();
  }

  showBand(from, to) {
    const { left, top, width, height } = this.chart.view.box;
    const { band, tip, isRows } = this.chart;
    const inside = (v, low, size) => Math.min(Math.max(v, low), low + size);
    const flat = isRows || Math.abs(to.py - from.py) < MIN_BAND;
    const [xa, xb] = [from.px, to.px].map((v) => inside(v, left, width)).sort((a, b) => a - b);
    const [ya, yb] = flat ? [top, top + height] : [from.py, to.py].map((v) => inside(v, top, height)).sort((a, b) => a - b);
    Object.assign(band.style, { left: `${xa}px`, width: `${xb - xa}px`, top: `${ya}px`, height: `${yb - ya}px` });
    band.hidden = false;
    tip.hidden = true;
  }

  key(event) {
    const { chart } = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowRight: [0.2, 0], ArrowLeft: [-0.2, 0], ArrowUp: [0, 0.2], ArrowDown: [0, -0.2],
    };
    const keys = {
      ArrowRight: () => chart.walk(1), ArrowLeft: () => chart.walk(-1),
      "+": () => chart.zoom(0.5, chart.place), "=": () => chart.zoom(0.5, chart.place), "-": () => chart.zoom(2, chart.place),
      0: () => chart.seeAll(), Escape: () => chart.hover(null), Enter: () => chart.meant(chart.hovered),
    };
    // Up and down scroll the page where there is nothing to go to.
    if (chart.hovered && chart.shown.length > 1) {
      Object.assign(keys, { ArrowUp: () => chart.hop(-1), ArrowDown: () => chart.hop(1) });
    }
    const action = event.shiftKey && moves[event.key] ? () => chart.move(...moves[event.key]) : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}

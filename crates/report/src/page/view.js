"use strict";

// Which part of a chart is seen, and where on the canvas a value stands.

const NARROWEST = 1e-5; // of the whole: nobody zooms in further

class View {
  /** `whole` is all that there is to see: { x0, x1, y0, y1 }. Where `locksY`, its whole height is always seen. */
  constructor(whole, locksY = false) {
    this.whole = whole;
    this.locksY = locksY;
    this.box = { left: 0, top: 0, width: 1, height: 1 }; // on the canvas, in pixels
    this.reset();
  }

  get isWhole() {
    return ["x0", "x1", "y0", "y1"].every((end) => this[end] === this.whole[end]);
  }

  reset() {
    Object.assign(this, this.whole);
  }

  /** Shows this part, as far as there is something to see. */
  look({ x0, x1, y0, y1 }) {
    const { whole } = this;
    const part = {
      x0: Math.max(whole.x0, x0), x1: Math.min(whole.x1, x1),
      y0: this.locksY ? whole.y0 : Math.max(whole.y0, y0), y1: this.locksY ? whole.y1 : Math.min(whole.y1, y1),
    };
    const wide = part.x1 - part.x0 >= (whole.x1 - whole.x0) * NARROWEST;
    const high = part.y1 - part.y0 >= (whole.y1 - whole.y0) * NARROWEST;
    if (wide && high) Object.assign(this, part);
  }

  /** Shows so many times as much, around a place or the middle. */
  zoom(factor, at) {
    const { x0, x1, y0, y1 } = this;
    const x = at?.x ?? (x0 + x1) / 2;
    const y = at?.y ?? (y0 + y1) / 2;
    this.look({
      x0: x - (x - x0) * factor, x1: x + (x1 - x) * factor,
      y0: y - (y - y0) * factor, y1: y + (y1 - y) * factor,
    });
  }

  /** Goes so far, in values; no further than the ends. */
  move(dx, dy) {
    const { whole, x0, x1, y0, y1 } = this;
    const right = Math.min(Math.max(dx, whole.x0 - x0), whole.x1 - x1);
    const up = Math.min(Math.max(dy, whole.y0 - y0), whole.y1 - y1);
    this.look({ x0: x0 + right, x1: x1 + right, y0: y0 + up, y1: y1 + up });
  }

  sees({ x, y }) {
    return x >= this.x0 && x <= this.x1 && y >= this.y0 && y <= this.y1;
  }

  /** Moves to a point that is not seen. */
  reveal(point) {
    if (this.sees(point)) return;
    this.move(point.x - (this.x0 + this.x1) / 2, point.y - (this.y0 + this.y1) / 2);
  }

  // Values and pixels

  px(x) {
    return this.box.left + ((x - this.x0) / (this.x1 - this.x0)) * this.box.width;
  }

  py(y) {
    return this.box.top + ((this.y1 - y) / (this.y1 - this.y0)) * this.box.height;
  }

  /** Where this pixel is. */
  at(px, py) {
    const { left, top, width, height } = this.box;
    return {
      px, py, x: this.x0 + ((px - left) / width) * (this.x1 - this.x0),
      y: this.y1 - ((py - top) / height) * (this.y1 - this.y0),
    };
  }
}

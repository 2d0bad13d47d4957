"use strict";

// A .plot section's picture: what stands where, and how it is drawn on the canvas. What is shown
// (`data`, `shown`, `view`, `hovered`) is decided by the Explorer that extends it. Two series at
// most are shown: the chosen one as dots, the one compared with as open squares. Where a point
// stands says whether it is marked, so nothing depends on colour.

const REACH = 28; // how far from a point the pointer still means it, in pixels
const MARGIN = { left: 26, right: 30, top: 12, bottom: 46 }; // on the left, without the labels
const NARROWEST_LABELS = 24;

const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });

function axisTitle({ name, unit }) {
  return unit ? `${name} (${unit})` : name;
}

/** Round values that divide [low, high] into about `count` parts. */
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
  const values = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++) values.push(k * step || 0); // not -0
  return values;
}

class Picture {
  lineAt(line, x) {
    return line.at_zero + line.slope * x;
  }

  get cutoff() {
    return this.data.lines.at(-1);
  }

  isMarked(point) {
    return this.cutoff !== undefined && point.y > this.lineAt(this.cutoff, point.x);
  }

  // Places

  get plot() {
    const left = MARGIN.left + (this.labels ?? NARROWEST_LABELS) + 8;
    return {
      left, top: MARGIN.top,
      width: Math.max(1, this.canvas.clientWidth - left - MARGIN.right),
      height: Math.max(1, this.canvas.clientHeight - MARGIN.top - MARGIN.bottom),
    };
  }

  isSeen({ x, y }) {
    const { x0, x1, y0, y1 } = this.view;
    return x >= x0 && x <= x1 && y >= y0 && y <= y1;
  }

  pixel({ x, y }) {
    const { left, top, width, height } = this.plot;
    const { x0, x1, y0, y1 } = this.view;
    return { px: left + ((x - x0) / (x1 - x0)) * width, py: top + ((y1 - y) / (y1 - y0)) * height };
  }

  where(event) {
    const { left, top, width, height } = this.plot;
    const { x0, x1, y0, y1 } = this.view;
    const box = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    return { px, py, x: x0 + ((px - left) / width) * (x1 - x0), y: y1 - ((py - top) / height) * (y1 - y0) };
  }

  /** The point that the pointer means, if one is near. */
  closest({ px, py }) {
    let best = null;
    let nearest = REACH ** 2;
    this.shown.forEach((series, which) => series.points.forEach((point, at) => {
      if (!this.isSeen(point)) return;
      const on = this.pixel(point);
      const distance = (on.px - px) ** 2 + (on.py - py) ** 2;
      if (distance < nearest) [best, nearest] = [{ which, at }, distance];
    }));
    return best;
  }

  // The tip

  showTip(point, lines) {
    this.tip.textContent = lines.join("\n");
    this.tip.hidden = false;
    const { px, py } = this.pixel(point);
    const beyond = px + 14 + this.tip.offsetWidth > this.stage.clientWidth;
    this.tip.style.left = `${Math.max(0, beyond ? px - 14 - this.tip.offsetWidth : px + 14)}px`;
    this.tip.style.top = `${Math.min(Math.max(0, py - 20), this.canvas.clientHeight - this.tip.offsetHeight)}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  // The drawing

  draw() {
    if (!this.view || !this.canvas.clientWidth) return;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.canvas.clientWidth * scale);
    this.canvas.height = Math.round(this.canvas.clientHeight * scale);
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(this.section);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const font = `12px ${style.fontFamily}`;
    pen.font = font;
    this.labels = this.widestLabel(pen);

    this.drawAxes(pen, colour);
    pen.save();
    const { left, top, width, height } = this.plot;
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    this.drawMarkedArea(pen, colour);
    this.shown.forEach((series, which) => this.drawPoints(pen, colour, series, which));
    this.drawLines(pen, colour);
    this.drawHovered(pen, colour);
    pen.restore();
  }

  yTicks() {
    return ticks(this.view.y0, this.view.y1, this.plot.height / 60);
  }

  /** The axis's title stands beside the labels, not upon them. */
  widestLabel(pen) {
    const widths = this.yTicks().map((y) => pen.measureText(exact.format(y)).width);
    return Math.ceil(Math.max(NARROWEST_LABELS, ...widths));
  }

  drawAxes(pen, colour) {
    pen.lineWidth = 1;
    pen.strokeStyle = colour("rule");
    pen.fillStyle = colour("soft");
    this.drawYAxis(pen, colour);
    this.drawXAxis(pen, colour);
  }

  drawYAxis(pen, colour) {
    const { left, top, width, height } = this.plot;
    const { x0 } = this.view;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const y of this.yTicks()) {
      const py = Math.round(this.pixel({ x: x0, y }).py) + 0.5;
      pen.beginPath();
      pen.moveTo(left, py);
      pen.lineTo(left + width, py);
      pen.stroke();
      pen.fillText(exact.format(y), left - 8, py);
    }
    pen.save();
    pen.fillStyle = colour("ink");
    pen.translate(10, top + height / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(axisTitle(this.data.y), 0, 0);
    pen.restore();
  }

  drawXAxis(pen, colour) {
    const { left, top, width, height } = this.plot;
    const { x0, x1, y0 } = this.view;
    pen.fillStyle = colour("soft");
    pen.textBaseline = "top";
    pen.textAlign = "center";
    // At least four parts, where the labels leave room for them.
    for (const x of ticks(x0, x1, Math.max(width / 110, Math.min(4, width / 70)))) {
      const px = Math.round(this.pixel({ x, y: y0 }).px) + 0.5;
      pen.beginPath();
      pen.moveTo(px, top + height);
      pen.lineTo(px, top + height + 5);
      pen.stroke();
      pen.fillText(exact.format(x), px, top + height + 8);
    }
    pen.fillStyle = colour("ink");
    pen.fillText(axisTitle(this.data.x), left + width / 2, top + height + 28);
  }

  drawMarkedArea(pen, colour) {
    if (!this.cutoff) return;
    const { x0, x1, y1 } = this.view;
    const corners = [{ x: x0, y: y1 }, { x: x0, y: this.lineAt(this.cutoff, x0) },
      { x: x1, y: this.lineAt(this.cutoff, x1) }, { x: x1, y: y1 }].map((p) => this.pixel(p));
    pen.globalAlpha = 0.07;
    pen.fillStyle = colour("far");
    pen.beginPath();
    corners.forEach(({ px, py }) => pen.lineTo(px, py));
    if (this.lineAt(this.cutoff, x0) < y1 || this.lineAt(this.cutoff, x1) < y1) pen.fill();
    pen.globalAlpha = 1;
  }

  drawPoints(pen, colour, series, which) {
    pen.fillStyle = colour("near");
    pen.strokeStyle = colour("far");
    pen.lineWidth = 1.3;
    pen.globalAlpha = 0.75;
    for (const point of series.points) {
      if (!this.isSeen(point)) continue;
      const { px, py } = this.pixel(point);
      if (which === 0) {
        pen.beginPath();
        pen.arc(px, py, 2.3, 0, 2 * Math.PI);
        pen.fill();
      } else {
        pen.strokeRect(px - 2.5, py - 2.5, 5, 5);
      }
    }
    pen.globalAlpha = 1;
  }

  drawLines(pen, colour) {
    const { left, top, width } = this.plot;
    const { x0, x1, y1 } = this.view;
    pen.lineWidth = 1.5;
    pen.lineJoin = "round";
    for (const line of this.data.lines) {
      const from = this.pixel({ x: x0, y: this.lineAt(line, x0) });
      const to = this.pixel({ x: x1, y: this.lineAt(line, x1) });
      pen.strokeStyle = colour("ink");
      pen.setLineDash(line.dashed ? [7, 5] : []);
      pen.beginPath();
      pen.moveTo(from.px, from.py);
      pen.lineTo(to.px, to.py);
      pen.stroke();
      pen.setLineDash([]);

      // The name stands on the line's right end, or where the line leaves through the top.
      const exit = to.py < top && line.slope > 0 ? (y1 - line.at_zero) / line.slope : x1;
      if (exit < x0) continue;
      const at = this.pixel({ x: exit, y: this.lineAt(line, exit) });
      const name = line === this.cutoff ? `${line.name}: above it, ${this.data.marked}` : line.name;
      pen.textAlign = "right";
      pen.textBaseline = "bottom";
      const px = Math.max(Math.min(at.px, left + width) - 6, left + pen.measureText(name).width + 6);
      const py = Math.max(at.py - 5, top + 16);
      pen.strokeStyle = colour("paper");
      pen.lineWidth = 4;
      pen.strokeText(name, px, py);
      pen.lineWidth = 1.5;
      pen.fillStyle = colour("ink");
      pen.fillText(name, px, py);
    }
  }

  drawHovered(pen, colour) {
    if (!this.hovered) return;
    const { left, top, height } = this.plot;
    const { px, py } = this.pixel(this.shown[this.hovered.which].points[this.hovered.at]);
    pen.strokeStyle = colour("soft");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(px, py);
    pen.lineTo(px, top + height);
    pen.moveTo(px, py);
    pen.lineTo(left, py);
    pen.stroke();
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(px, py, 6, 0, 2 * Math.PI);
    pen.stroke();
  }
}

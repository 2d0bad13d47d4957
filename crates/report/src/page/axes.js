// What stands beside a chart: ticks, their labels, the names of rows and axes.

const MARGIN = { left: 26, right: 30, top: 12, bottom: 46 }; // on the left, without the labels
const NARROWEST_LABELS = 24;
const ROW_HEIGHT = 40; // of a row with its name above it, in pixels
const ROW_MIDDLE = 27 / ROW_HEIGHT;
const MARK_HEIGHT = 16; // of what stands in a row

const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });
/** Steps of a clock, in milliseconds; below a second and above a day they are those of numbers. */
const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((s) => s * 1000);

function rowsOf({ scale }) {
  return scale.rows ?? [];
}

function axisTitle({ name, unit }) {
  return unit ? `${name} (${unit})` : name;
}

/** A round step that divides `length` into about `count` parts. */
function roundStep(length, count) {
  const rough = length / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
}

/** Round values within [low, high]; on a clock round times of day. */
function ticks({ scale }, low, high, count) {
  const from = scale.clock ?? 0;
  const rough = (high - low) / count;
  const ofClock = scale.clock !== undefined && rough > 500 && CLOCK_STEPS.find((step) => step >= rough);
  const step = ofClock || roundStep(high - low, count);
  const values = [];
  for (let k = Math.ceil((low + from) / step); k * step <= high + from + step * 1e-9; k++) {
    values.push(k * step - from || 0); // not -0
  }
  return { values, step };
}

/** A value as its axis names it; `step` says how exactly. */
function told({ scale }, value, step = 0) {
  if (scale.clock === undefined) return exact.format(value);
  const day = 86_400_000;
  const ms = (((value + scale.clock) % day) + day) % day;
  // Half a microsecond is nothing; without it a round time may miss its second.
  const time = new Date(ms + 0.0005).toISOString().slice(11, 23);
  return step >= 1000 ? time.slice(0, 8) : time;
}

class Axes {
  constructor(x, y) {
    Object.assign(this, { x, y, rows: rowsOf(y), labels: NARROWEST_LABELS });
  }

  /** The place that is left for the marks. */
  box(pen, view, width, height) {
    const labels = this.yTicks(view, height).map((y) => pen.measureText(told(this.y, y)).width);
    this.labels = this.rows.length ? -MARGIN.left : Math.ceil(Math.max(NARROWEST_LABELS, ...labels));
    const left = MARGIN.left + this.labels + 8;
    return {
      left, top: MARGIN.top,
      width: Math.max(1, width - left - MARGIN.right), height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
    };
  }

  yTicks(view, height) {
    return this.rows.length ? [] : ticks(this.y, view.y0, view.y1, Math.max(1, height - MARGIN.top - MARGIN.bottom) / 60).values;
  }

  draw(pen, view, colour) {
    pen.lineWidth = 1;
    pen.strokeStyle = colour("rule");
    pen.fillStyle = colour("soft");
    if (this.rows.length) this.drawRows(pen, view, colour);
    else this.drawY(pen, view, colour);
    this.drawX(pen, view, colour);
  }

  drawY(pen, view, colour) {
    const { left, top, width, height } = view.box;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const y of this.yTicks(view, height + MARGIN.top + MARGIN.bottom)) {
      const py = Math.round(view.py(y)) + 0.5;
      pen.beginPath();
      pen.moveTo(left, py);
      pen.lineTo(left + width, py);
      pen.stroke();
      pen.fillText(told(this.y, y), left - 8, py);
    }
    pen.save();
    pen.fillStyle = colour("ink");
    pen.translate(10, top + height / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(axisTitle(this.y), 0, 0);
    pen.restore();
  }

  /** Each row's name stands above its marks, where it has room at any width. */
  drawRows(pen, view, colour) {
    const { left, top, width } = view.box;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    this.rows.forEach((name, row) => {
      const py = top + row * ROW_HEIGHT;
      pen.fillStyle = colour("ink");
      pen.fillText(shortened(pen, name, width), left, py + 9);
      pen.fillStyle = colour("shade");
      pen.fillRect(left, py + ROW_MIDDLE * ROW_HEIGHT - MARK_HEIGHT / 2, width, MARK_HEIGHT);
    });
  }

  drawX(pen, view, colour) {
    const { left, top, width, height } = view.box;
    const bottom = top + height;
    pen.fillStyle = colour("soft");
    pen.textBaseline = "top";
    pen.textAlign = "center";
    // At least four parts, where the labels leave room for them.
    const { values, step } = ticks(this.x, view.x0, view.x1, Math.max(width / 110, Math.min(4, width / 70)));
    let end = -Infinity;
    for (const x of values) {
      const px = Math.round(view.px(x)) + 0.5;
      pen.beginPath();
      pen.moveTo(px, bottom);
      pen.lineTo(px, bottom + 5);
      pen.stroke();
      const label = told(this.x, x, step);
      const half = pen.measureText(label).width / 2;
      if (px - half < Math.max(0, end + 8) || px + half > left + width + MARGIN.right) continue;
      pen.fillText(label, px, bottom + 8);
      end = px + half;
    }
    pen.fillStyle = colour("ink");
    pen.fillText(axisTitle(this.x), left + width / 2, bottom + 28);
  }
}

/** As much of a text as fits. */
function shortened(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let kept = text.length;
  while (kept > 1 && pen.measureText(`${text.slice(0, kept)}\u2026`).width > width) kept--;
  return `${text.slice(0, kept)}\u2026`;
}

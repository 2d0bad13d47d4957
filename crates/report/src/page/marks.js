// What stands in a chart: each mark as it is drawn, and how far a pointer is from it. Series differ in their
// marks as well as in their colours, so that nothing depends on colour.

const SERIES_COLOURS = 5; // --curve-0 to --curve-4 of the style sheet
const LINES = ["line", "dashed", "steps"];
const WIDE = ["spans", "outlines", "threads"]; // a point has an end to its right
const IN_ROWS = ["strokes", ...WIDE];

/** Where a point stands, as pixels: { px, py } and, where it is long, { qx, qy }. */
function placeOf(view, mark, point) {
  const [px, py] = [view.px(point.x), view.py(point.y)];
  if (mark === "bars") {
    const qy = view.py(point.end);
    // A segment of one octet must still be seen.
    return { px, py, qx: px, qy: Math.abs(qy - py) < 3 ? py - 3 : qy };
  }
  if (WIDE.includes(mark)) return { px, py, qx: Math.max(view.px(point.end), px + 1.5), qy: py };
  return { px, py, qx: px, qy: py };
}

function distance({ px, py, qx, qy }, at) {
  const between = (v, a, b) => Math.min(Math.max(v, Math.min(a, b)), Math.max(a, b));
  return (between(at.px, px, qx) - at.px) ** 2 + (between(at.py, py, qy) - at.py) ** 2;
}

/** Whether anything of the point is in sight. */
function isSeen(view, mark, point) {
  if (WIDE.includes(mark)) return point.end >= view.x0 && point.x <= view.x1;
  if (mark === "bars") return point.x >= view.x0 && point.x <= view.x1 && point.end >= view.y0 && point.y <= view.y1;
  return view.sees(point);
}

/** Lines lie beneath marks, which would be hidden behind them; what has a tone of its own is drawn last. */
function inDrawingOrder(shown) {
  const height = ({ mark, tone }) => (LINES.includes(mark) ? 0 : tone === "plain" ? 1 : 2);
  return [...shown].sort((a, b) => height(a) - height(b));
}

function drawSeries(pen, view, series, cell) {
  const { mark, points, which } = series;
  if (LINES.includes(mark)) return drawLine(pen, points.map((point) => placeOf(view, mark, point)), mark);
  const size = { ...sizeOf(view, mark, cell), tone: series.tone };
  pen.globalAlpha = ["dots", "hollow"].includes(mark) ? 0.75 : 1;
  for (const point of points) {
    if (isSeen(view, mark, point)) drawMark(pen, placeOf(view, mark, point), mark, size, which);
  }
  pen.globalAlpha = 1;
}

function drawLine(pen, places, mark) {
  pen.lineWidth = 1.8;
  pen.setLineDash(mark === "dashed" ? [7, 5] : []);
  pen.beginPath();
  places.forEach(({ px, py }, at) => {
    if (mark === "steps" && at > 0) pen.lineTo(px, places[at - 1].py);
    pen.lineTo(px, py);
  });
  pen.stroke();
  pen.setLineDash([]);
}

/** How large the marks of a regular grid are: squares fill their cells, strokes make a band with their neighbours. */
function sizeOf(view, mark, cell) {
  const wide = (cell.x / (view.x1 - view.x0)) * view.box.width;
  const high = (cell.y / (view.y1 - view.y0)) * view.box.height;
  if (mark === "strokes") return { wide: Math.max(1.2, Math.min(6, wide + 0.5)), high: MARK_HEIGHT };
  return { wide: Math.min(wide, 40) * 0.86, high: Math.min(high, 40) * 0.86 };
}

function drawMark(pen, { px, py, qx, qy }, mark, { wide, high, tone = "plain" }, which) {
  pen.lineWidth = 1.4;
  pen.beginPath();
  const draw = {
    dots() {
      pen.arc(px, py, 2.3, 0, 2 * Math.PI);
      pen.fill();
    },
    hollow() {
      pen.strokeRect(px - 2.5, py - 2.5, 5, 5);
    },
    crosses() {
      pen.moveTo(px - 3, py - 3);
      pen.lineTo(px + 3, py + 3);
      pen.moveTo(px - 3, py + 3);
      pen.lineTo(px + 3, py - 3);
      pen.stroke();
    },
    rings() {
      pen.lineWidth = 2;
      pen.arc(px, py, 5.5, 0, 2 * Math.PI);
      pen.stroke();
    },
    triangles() {
      pen.moveTo(px, py - 5);
      pen.lineTo(px - 4.5, py + 3);
      pen.lineTo(px + 4.5, py + 3);
      pen.fill();
    },
    strokes() {
      pen.fillRect(px - wide / 2, py - high / 2, wide, high);
    },
    bars() {
      // One that matters is seen beside a line at the same place.
      pen.lineWidth = tone === "plain" ? 3 : 5;
      pen.moveTo(px, py);
      pen.lineTo(qx, qy);
      pen.stroke();
    },
    spans() {
      pen.fillRect(px, py - MARK_HEIGHT / 2 + 2, qx - px, MARK_HEIGHT - 4);
    },
    outlines() {
      pen.strokeRect(px, py - MARK_HEIGHT / 2 + 2.5, qx - px, MARK_HEIGHT - 5);
    },
    threads() {
      pen.lineWidth = 2;
      pen.moveTo(px, py);
      pen.lineTo(qx, qy);
      pen.stroke();
    },
    squares() {
      drawSquare(pen, { px, py }, { wide, high }, which);
    },
  };
  draw[mark]();
}

/** Squares of different series differ in form: whole, hollow, small, crossed. */
function drawSquare(pen, { px, py }, { wide, high }, which) {
  const [left, top] = [px - wide / 2, py - high / 2];
  pen.lineWidth = 1.2;
  const forms = [
    () => pen.fillRect(left, top, wide, high),
    () => pen.strokeRect(left + 0.6, top + 0.6, wide - 1.2, high - 1.2),
    () => pen.fillRect(px - wide / 4, py - high / 4, wide / 2, high / 2),
    () => {
      pen.moveTo(left, top);
      pen.lineTo(left + wide, top + high);
      pen.moveTo(left, top + high);
      pen.lineTo(left + wide, top);
      pen.stroke();
    },
  ];
  forms[which % forms.length]();
}

/** A legend's sample, 18 pixels wide and 14 high. */
function drawSample(pen, mark, which) {
  if (LINES.includes(mark)) return drawLine(pen, [{ px: 0, py: 7 }, { px: 18, py: 7 }], mark);
  const place = {
    bars: { px: 9, py: 13, qx: 9, qy: 1 }, threads: { px: 0, py: 7, qx: 18, qy: 7 },
    spans: { px: 2, py: 7, qx: 16, qy: 7 }, outlines: { px: 2, py: 7, qx: 16, qy: 7 },
  }[mark] ?? { px: 9, py: 7, qx: 9, qy: 7 };
  drawMark(pen, place, mark, { wide: mark === "strokes" ? 3 : 12, high: 12 }, which);
}

// A chart of the reports, drawn again whenever its data changes.

const ROOM_BELOW = 0.04; // of the height

class LiveChart extends Chart {
  /** `data` is what a report's chart has, with points as [x, y] in `series`. */
  static in(place, label, data) {
    const figure = element("figure", { class: "plot", "aria-label": label });
    const script = element("script", { type: "application/json" });
    script.textContent = JSON.stringify(laidOut(data));
    figure.append(script);
    place.append(figure);
    return new LiveChart(figure);
  }

  /** Shows other data; what the reader looks at stays in sight where the axes are the same. */
  show(data) {
    this.data = laidOut(data);
    this.axes = new Axes(this.data.x, this.data.y);
    this.series = this.data.series.map((series, which) => ({ ...series, which, points: this.pointsOf(series) }));
    this.hovered = null;
    this.tip.hidden = true;
    this.cell = this.cellSize();
    this.describe();
    const part = this.view.isWhole ? null : { x0: this.view.x0, x1: this.view.x1, y0: this.view.y0, y1: this.view.y1 };
    this.view = new View(this.extent(), this.isRows);
    if (part) this.view.look(part);
    this.looked();
  }

  /** Without room below them the marks of the lowest points would be cut in half. */
  extent() {
    const all = super.extent();
    const room = (all.y1 - all.y0) * ROOM_BELOW;
    const isLow = !this.isRows && this.shown.some(({ points }) => points.some(({ y }) => y < all.y0 + room));
    return isLow ? { ...all, y0: all.y0 - room } : all;
  }

  meant(hovered) {
    super.meant(hovered);
    if (this.place) this.picked?.(this.place);
  }
}

/** Series with their own points, in the form that charts read. */
function laidOut({ x, y, lines = [], bands = [], above = "", series }) {
  const axis = ({ name, unit = "", rows }) => ({ name, unit, scale: rows ? { rows } : {} });
  return {
    x: axis(x), y: axis(y), lines, bands, above, choice: null,
    xs: series.map(({ points }) => points.map(([px]) => px)),
    series: series.map(({ name, mark, tone = "plain", points, said }, at) => ({
      name, mark, tone, x: at, y: points.map(([, py]) => py), ...(said ? { said } : {}),
    })),
  };
}

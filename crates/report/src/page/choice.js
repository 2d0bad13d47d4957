// A chart of many series, of which one is chosen by its facets and another may be compared with it. Entries of
// the page's tables open the series that they name.

class Choosable extends Chart {
  start() {
    for (const series of this.series) series.points.sort((a, b) => a.x - b.x);
    this.adoptButtons();
    this.choose(this.series.find(({ ladders }) => ladders) ?? this.series[0]);
  }

  get shown() {
    const { chosen, other } = this;
    if (!chosen) return [];
    return [{ ...chosen, which: 0 }, ...(other ? [{ ...other, mark: "hollow", which: 1 }] : [])];
  }

  /** The series that answers `facet` with `key` and agrees with `keys` on most other facets. */
  nearest(keys, facet, key) {
    let best = null;
    let agreed = -1;
    for (const series of this.series) {
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
    const { compare } = this.data.choice;
    const isOther = key && key !== this.chosen.keys[compare];
    this.other = isOther ? this.nearest(this.chosen.keys, compare, key) : null;
    this.hovered = null;
    this.cell = this.cellSize();
    this.describe();
    this.ladders.offer(this.chosen.points);
    this.seeAll();
  }

  build() {
    const { facets, compare } = this.data.choice;
    const controls = element("div", { class: "controls" });
    const select = (label, keys) => {
      const made = element("select", {}, ...keys.map((key) => element("option", { value: key }, key || "nothing")));
      controls.append(element("label", {}, label, made));
      return made;
    };
    const answers = facets.map((_, facet) => [...new Set(this.series.map((s) => s.keys[facet]))]);
    this.selects = facets.map((name, facet) => select(name, answers[facet]));
    this.selects.forEach((made, facet) => made.addEventListener("change", () => {
      this.choose(this.nearest(this.chosen.keys, facet, made.value));
    }));
    this.compareSelect = select("Compare with", ["", ...answers[compare]]);
    this.compareSelect.addEventListener("change", () => this.compareWith(this.compareSelect.value));
    this.figure.append(controls);
    super.build();
  }

  adoptButtons() {
    const mine = new Map(this.series.map((series) => [series.id, series]));
    this.buttons = [...document.querySelectorAll("button[data-opens]")]
      .map((button) => [button.dataset.opens, button])
      .filter(([id]) => mine.has(id));
    for (const [id, button] of this.buttons) {
      button.addEventListener("click", () => {
        this.choose(mine.get(id));
        this.figure.scrollIntoView({ block: "nearest", behavior: "smooth" });
      });
    }
  }

  labelOf(series) {
    return series.keys[this.data.choice.compare];
  }

  nameOf(series) {
    if (!series.keys) return series.name;
    const { facets, compare } = this.data.choice;
    const { unit } = this.data.y;
    const { points } = series;
    const marked = points.filter((point) => this.isMarked(point)).length;
    const sorted = points.map((point) => point.y).sort((a, b) => a - b);
    const share = number.format((100 * marked) / sorted.length);
    const name = series.keys.map((key, f) => (f === compare ? key : `${facets[f].toLowerCase()} ${key}`)).join(", ");
    return `${name}: ${number.format(marked)} of ${number.format(sorted.length)} ${this.data.above} (${share}%), ` +
      `median ${number.format(sorted[sorted.length >> 1])} ${unit}, longest ${number.format(sorted.at(-1))} ${unit}`;
  }
}

document.querySelector(".plot")?.classList.add("first");
for (const figure of document.querySelectorAll(".plot")) {
  const { choice } = JSON.parse(figure.querySelector("script").textContent);
  if (choice) new Choosable(figure);
  else new Chart(figure);
}

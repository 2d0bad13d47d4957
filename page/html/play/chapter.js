// A chapter's figure: its pair of conversations, its controls and its charts, all from one set of values.

class Chapter {
  /** `plan` says what the figure has; see chapters.js. */
  constructor(section, plan, lists, given) {
    Object.assign(this, { section, plan, lists });
    this.begin = { ...plan.begin };
    this.values = valuesOf(given, this.begin);
    const figure = section.querySelector("figure");
    this.figure = figure;
    const above = element("div", { class: "controls-row" });
    figure.append(above);
    if (plan.before) this.charts = plan.before(this, figure);
    if (plan.pair) this.pair = this.pairIn(figure);
    const after = plan.after?.(this, figure);
    this.charts = [...(this.charts ?? []), ...(after ?? [])];
    const changed = (some) => this.change(some);
    this.controls = [new Controls(above, plan.controls?.(this) ?? [], this.values, changed)];
    if (plan.more) this.controls.push(this.moreIn(figure, changed));
    this.back = element("button", { type: "button", class: "quiet back", hidden: "" }, "As at first");
    this.back.addEventListener("click", () => this.change(this.begin));
    figure.append(this.back);
    this.ask();
  }

  pairIn(figure) {
    const { pair } = this.plan;
    const place = element("div", {});
    figure.append(place);
    const made = new Pair(place, {
      label: pair.label ?? "Rule", sums: (run, side) => (pair.sums ?? sumOf)(run, side, this.values), asks: (side) => pair.asks(this.values, side),
      choose: pair.options && {
        options: () => pair.options(this.lists, this.values),
        value: (side) => this.values[side ? "b" : "a"],
        chosen: (side, value) => this.change({ [side ? "b" : "a"]: value }),
      },
    });
    if (!pair.options) made.sides.forEach(({ select }, side) => (select.textContent = pair.names[side]));
    made.shown = () => {
      this.tell();
      for (const chart of this.charts ?? []) chart.ran?.();
    };
    return made;
  }

  moreIn(figure, changed) {
    const place = element("div", { class: "controls-row" });
    figure.append(element("details", { class: "more" }, element("summary", {}, "Everything else"), place));
    return new Controls(place, this.plan.more(this.lists, this.values), this.values, changed);
  }

  change(some) {
    Object.assign(this.values, some);
    this.plan.mend?.(this.values, some);
    for (const controls of this.controls) controls.set(this.values);
    tellAddress(addressOf(this.plan.id, this.values, this.begin));
    this.ask();
  }

  ask() {
    this.back.hidden = Object.keys(this.begin).every((key) => this.begin[key] === this.values[key]);
    // All lengths are asked for first: one transfer would take half of their time before it.
    for (const chart of this.charts.filter(({ isFirst }) => isFirst)) chart.ask();
    this.pair?.ask();
    for (const chart of this.charts.filter(({ isFirst }) => !isFirst)) chart.ask();
  }

  /** Fills in what the text says of the runs. */
  tell() {
    const [a, b] = this.pair.runs;
    if (!a || !b) return;
    for (const [name, of] of Object.entries(this.plan.says ?? {})) {
      for (const place of this.section.querySelectorAll(`[data-says="${name}"]`)) place.textContent = of([a, b], this.values);
    }
    for (const place of this.section.querySelectorAll("[data-rule]")) place.textContent = this.nameOf(place.dataset.rule === "b");
  }

  /** The name of a side's rule. */
  nameOf(side) {
    const value = this.values[side ? "b" : "a"];
    const all = this.plan.pair.options(this.lists, this.values).flatMap(({ options }) => options);
    return all.find((it) => it.value === value)?.text ?? value;
  }
}

/** The chart of all lengths of an exchange chapter. */
function sweepOf(chapter, figure) {
  const chart = new SweepChart(figure, {
    setting: (side) => trial({ ...chapter.values, step: chapter.values.step || 100 }, side),
    nameOf: (side) => chapter.nameOf(side),
    here: () => chapter.values.length,
    picked: (length) => chapter.change({ length }),
  });
  return [chart];
}

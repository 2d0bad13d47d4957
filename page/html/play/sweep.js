// The time of every length, as in Mogul & Minshall's Figures 7 to 12, under both rules.

const MARKS = ["dots", "hollow"];

class SweepChart {
  /** `setting(side)` is the trial of a side; `nameOf(side)` its name; `picked` is told of a length. */
  constructor(place, { setting, nameOf, here, picked }) {
    Object.assign(this, { setting, nameOf, here, picked, isFirst: true, answers: [null, null], keys: [null, null] });
    this.score = element("p", { class: "score" });
    this.place = element("div", { class: "sweep" });
    place.append(this.place, this.score);
    this.latest = [0, 1].map((side) => new Latest((answer) => this.show(side, answer), () => this.show(side, null)));
  }

  ask() {
    [0, 1].forEach((side) => {
      const question = { ask: "sweep", ...this.setting(side) };
      const key = JSON.stringify(question);
      if (this.keys[side] === key) return;
      this.keys[side] = key;
      this.latest[side].ask(question);
    });
    this.draw();
  }

  show(side, answer) {
    this.answers[side] = answer;
    this.draw();
  }

  /** Draws with the browser's next picture: the answers of both sides often come together. */
  draw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.drawNow();
    });
  }

  drawNow() {
    const shown = this.answers.map((answer, side) => ({ answer, side })).filter(({ answer }) => answer);
    if (shown.length === 0) return;
    const series = shown.map(({ answer, side }) => ({
      name: this.nameOf(side), mark: MARKS[side],
      points: answer.lengths.map((length, at) => [length, answer.elapsed_ns[at] / NS_PER_MS]),
    }));
    const here = this.here();
    const places = shown.map(({ answer }) => answer.lengths.indexOf(here)).filter((at) => at >= 0);
    series.push({ name: "the answer below", mark: "rings", tone: "plain", points: places.map((at, side) => series[side].points[at]) });
    const { cutoff } = shown[0].answer;
    const data = {
      x: { name: "answer", unit: "octets" }, y: { name: "elapsed time", unit: "ms" }, above: "late",
      lines: [{ name: "limit", at_zero: cutoff.at_zero, slope: cutoff.slope, dashed: true }], series,
    };
    if (this.chart) this.chart.show(data);
    else {
      this.chart = LiveChart.in(this.place, "Elapsed time of each length", data);
      this.chart.picked = ({ x }) => this.picked(x);
    }
    this.tell(shown);
  }

  tell(shown) {
    const parts = shown.flatMap(({ answer, side }) => {
      const { score_percent, segments_over_fewest } = answer.score;
      return [side && shown.length > 1 ? " " : "", strong(`${this.nameOf(side)}: ${score_percent.toFixed(1)} %`),
        ` of ${grouped(answer.lengths.length)} lengths are late, with ${segments_over_fewest.toFixed(2)} times the fewest segments.`];
    });
    this.score.replaceChildren(...parts);
  }
}

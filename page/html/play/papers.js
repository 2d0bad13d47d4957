// The figures that one chapter alone has: four ways to fetch a page, buffers that deadlock, sizes that stall,
// delay against overhead, and a line to type in.

/** Heidemann's Table 1: a bar for each way, with the paper's value. */
class WaysChart {
  constructor(chapter, figure) {
    this.list = element("ol", { class: "bars", "aria-label": "Mean of 100 retrievals" });
    figure.append(this.list);
    this.chapter = chapter;
    this.latest = new Latest((answer) => this.show(answer), () => {});
  }

  ask() {
    const { seed } = this.chapter.values;
    if (this.seed === seed) return;
    this.seed = seed;
    this.latest.ask({ ask: "retrieval", seed });
  }

  show(ways) {
    const most = Math.max(...ways.flatMap(({ mean_ms, published_ms }) => [mean_ms, published_ms]));
    const [http] = ways;
    this.list.replaceChildren(...ways.map(({ name, mean_ms, published_ms, stalls }) => {
      const bar = element("span", { class: "bar-of" });
      bar.style.width = `${(mean_ms / most) * 100}%`;
      const mark = element("span", { class: "paper-mark", title: `The paper: ${published_ms} ms` });
      mark.style.left = `${(published_ms / most) * 100}%`;
      const waits = stalls >= 0.05 ? `, ${stalls.toFixed(1)} waits` : "";
      return element("li", {}, element("span", { class: "bar-name" }, name), element("span", { class: "bar-room" }, bar, mark),
        element("span", { class: "bar-value" }, strong(`${mean_ms.toFixed(0)} ms`), ` (paper ${published_ms})${waits}`));
    }));
    for (const place of this.chapter.section.querySelectorAll("[data-says=times]")) {
      place.textContent = (ways[1].mean_ms / http.mean_ms).toFixed(1);
    }
  }
}

/** Moldeklev & Gunningberg's plane of buffers; a field is a transfer of 16 MiB. */
class Plane {
  constructor(chapter, figure) {
    Object.assign(this, { chapter, fields: new Map(), policy: null });
    const kib = (octets) => `${Math.round(octets / KIB)}K`;
    const head = [element("td", {}), ...ATM_BUFFERS.map((r) => element("th", { scope: "col" }, kib(r)))];
    const rows = ATM_BUFFERS.map((s) => element("tr", {}, element("th", { scope: "row" }, kib(s)), ...ATM_BUFFERS.map((r) => {
      const button = element("button", { type: "button", "aria-label": `send buffer ${kib(s)}, receive buffer ${kib(r)}` });
      button.addEventListener("click", () => chapter.change({ s, r }));
      this.fields.set(`${s},${r}`, { s, r, button });
      return element("td", {}, button);
    })));
    const caption = element("caption", {}, "Throughput of 16 MiB in Mbit/s under the first rule. Down: send buffer. Across: receive buffer.");
    figure.append(element("div", { class: "plane" }, element("table", {}, caption, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))));
  }

  ask() {
    const { a, s, r } = this.chapter.values;
    for (const field of this.fields.values()) field.button.setAttribute("aria-pressed", field.s === s && field.r === r);
    if (this.policy === a) return;
    this.policy = a;
    for (const field of this.fields.values()) this.measure(field, a);
  }

  async measure(field, policy) {
    const { button, s, r } = field;
    const question = { ask: "deadlock", send_buffer: s, receive_buffer: r, policy, phase: DEADLOCK_PHASE_US, is_watched: false };
    const { mbit_per_s } = await workers.askLater(question, () => this.policy === policy);
    if (this.policy !== policy) return;
    button.textContent = mbit_per_s >= 10 ? mbit_per_s.toFixed(0) : mbit_per_s.toFixed(1);
    button.dataset.pace = mbit_per_s < 1 ? "dead" : mbit_per_s < 10 ? "slow" : "fast";
  }
}

const ATM_BUFFERS = [4, 8, 16, 24, 32, 40, 48].map((it) => it * KIB).concat(52_428);
const DEADLOCK_PHASE_US = 20_000;

const deadlock = ({ s, r, a, b }, side) => ({
  ask: "deadlock", send_buffer: s, receive_buffer: r, policy: side ? b : a, phase: DEADLOCK_PHASE_US, is_watched: true,
});

/** The octets over time of both transfers. */
class Progress {
  constructor(chapter, figure) {
    Object.assign(this, { chapter });
    this.place = element("div", {});
    figure.append(this.place);
  }

  ask() {}

  /** Draws what the two transfers have done. */
  ran() {
    const runs = this.chapter.pair.runs;
    if (runs.some((run) => !run)) return;
    const series = runs.map((run, side) => ({
      name: `${this.chapter.nameOf(side)}: sent`, mark: side ? "dashed" : "steps",
      points: [[0, 0], ...run.data.map(([ms, octets]) => [ms, octets / 1e6])],
    }));
    const data = { x: { name: "time", unit: "ms" }, y: { name: "sent", unit: "million octets" }, series };
    if (this.chart) this.chart.show(data);
    else this.chart = LiveChart.in(this.place, "Octets sent over time", data);
  }
}

function sumOfDeadlock(run) {
  const paper = run.published_mbit_per_s === null ? "" : element("span", {}, ` (paper ${run.published_mbit_per_s})`);
  const waits = run.waited > 0.2 ? [dot(), `nothing moves for ${Math.round(run.waited * 100)} % of the time`] : [];
  return [strong(`${run.mbit_per_s.toFixed(2)} Mbit/s`), paper, ...waits];
}

/** Doupnik's sizes: a stroke where a file stalls. */
class Sizes {
  constructor(chapter, figure) {
    Object.assign(this, { chapter, answers: [null, null], keys: [null, null] });
    this.place = element("div", {});
    figure.append(this.place);
    this.latest = [0, 1].map((side) => new Latest((answer) => {
      this.answers[side] = answer;
      this.draw();
    }, () => {}));
  }

  ask() {
    const { a, b } = this.chapter.values;
    [a, b].forEach((policy, side) => {
      if (this.keys[side] === policy) return;
      this.keys[side] = policy;
      this.latest[side].ask({ ask: "parity", policy, step: 100, to: 40_000 });
    });
    this.draw();
  }

  draw() {
    if (this.answers.some((it) => !it)) return;
    const { file } = this.chapter.values;
    const share = ({ stalled, count }) => `${Math.round((stalled.length / count) * 100)} % of the sizes stall`;
    const names = this.answers.map((answer, side) => `${side + 1}. ${this.chapter.nameOf(side)}: ${share(answer)}`);
    const rows = [...names, "A tail behind an odd number of full segments"];
    const strokes = [...this.answers.map(({ stalled }) => stalled), this.answers[0].by_parity];
    const series = strokes.map((files, row) => ({ name: rows[row], mark: "strokes", points: files.map((it) => [it, row]) }));
    const bands = [{ name: "the file below", tone: "plain", from: file - 100, to: file + 100 }];
    const data = { x: { name: "file", unit: "octets" }, y: { name: "", rows }, series, bands };
    if (this.chart) return this.chart.show(data);
    this.chart = LiveChart.in(this.place, "Files that stall", data);
    this.chart.picked = ({ x }) => this.chapter.change({ file: x });
  }
}

const parity = ({ file, a, b }, side) => ({ ask: "parity", policy: side ? b : a, file });

function sumOfParity(run) {
  const { full_segments, tail } = run;
  const odd = full_segments % 2 ? "odd" : "even";
  return [...sumOf(run), dot(), element("span", { class: "aside" }, `${plural(full_segments, "full segment")} (${odd}) and ${tail ? `a tail of ${grouped(tail)}` : "no tail"}`)];
}

/** Davids' choice: a point for each limit. */
class Tradeoff {
  constructor(chapter, figure) {
    Object.assign(this, { chapter });
    this.place = element("div", {});
    figure.append(this.place);
    this.latest = new Latest((answer) => {
      this.points = answer;
      this.draw();
    }, () => {});
  }

  ask() {
    const { fast, tick } = this.chapter.values;
    const key = `${fast},${tick}`;
    if (this.key !== key) {
      this.key = key;
      this.latest.ask({ ask: "limit", is_fast: fast === "fast", limit: 1, tick_ms: tick, phase_ms: null });
    } else this.draw();
  }

  draw() {
    if (!this.points) return;
    const { limit } = this.chapter.values;
    const at = ({ overhead_percent, delay_ms }) => [overhead_percent, delay_ms];
    const here = this.points.filter((it) => it.limit === limit);
    const said = (it) => `limit ${it.limit} octets\n${it.packets.toFixed(1)} packets\noverhead ${it.overhead_percent.toFixed(0)} % of the data\ndelay ${it.delay_ms.toFixed(1)} ms`;
    const series = [
      { name: "a limit each, mean over the clock's phases", mark: "dots", points: this.points.map(at), said: this.points.map(said) },
      { name: `limit ${limit}`, mark: "rings", points: here.map(at), said: here.map(said) },
    ];
    const data = { x: { name: "overhead", unit: "% of the data" }, y: { name: "delay beyond the writes", unit: "ms" }, series };
    if (this.chart) return this.chart.show(data);
    this.chart = LiveChart.in(this.place, "Delay against overhead", data);
    this.chart.picked = ({ x, y }) => {
      const [near] = [...this.points].sort((p, q) => Math.hypot(p.overhead_percent - x, p.delay_ms - y) - Math.hypot(q.overhead_percent - x, q.delay_ms - y));
      this.chapter.change({ limit: near.limit });
    };
  }
}

const limited = ({ fast, tick, limit, phase }, side) => ({
  ask: "limit", is_fast: fast === "fast", limit: side ? 1 : limit, tick_ms: tick, phase_ms: Math.min(phase, tick),
});

function sumOfLimit(run) {
  return [strong(plural(run.packets, "packet")), dot(), `overhead ${run.overhead_percent.toFixed(0)} % \u00b7 delay ${run.delay_ms.toFixed(0)} ms`];
}

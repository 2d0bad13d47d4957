// Two conversations in step: the same time, two rules.

const TALLEST = 560; // pixels of a picture's time
const TOUR_MS = 7000; // what the cursor takes through a picture

class Pair {
  /** `sides` are { options, chosen, says }; `asks(side)` is the question of a side, or null. */
  constructor(place, { choose, label, asks, sums }) {
    Object.assign(this, { place, choose, label, asks, sums, runs: [null, null], isTrue: false, position: 1 });
    this.build();
    this.latest = [0, 1].map((side) => new Latest((run) => this.show(side, run), (error) => this.refuse(side, error)));
    new ResizeObserver(() => this.draw()).observe(this.place);
    this.tourWhenSeen();
  }

  build() {
    this.sides = [0, 1].map((side) => {
      const select = this.choose ? this.options(side) : element("p", { class: "side-name" });
      const meaning = element("p", { class: "meaning" });
      const box = element("div", { class: "ladder-box" });
      const result = element("p", { class: "result" });
      const now = element("p", { class: "now" });
      const part = element("section", { class: `side side-${side}`, "aria-label": side ? "Second" : "First" },
        this.choose ? element("label", { class: "who" }, element("span", {}, this.label), select) : select, meaning, box, result, now);
      return { part, select, meaning, box, result, now, conversation: new Conversation(box) };
    });
    this.scrub = element("input", { type: "range", min: "0", max: "1000", value: "1000", "aria-label": "Time in the picture" });
    this.scrub.addEventListener("input", () => this.go(Number(this.scrub.value) / 1000));
    this.clock = element("output", { class: "clock" });
    this.run = element("button", { type: "button", class: "quiet" }, "Run");
    this.run.addEventListener("click", () => (this.tour ? this.stop() : this.start()));
    this.truth = element("button", { type: "button", class: "quiet", "aria-pressed": "false" }, "True times");
    this.truth.addEventListener("click", () => {
      this.isTrue = !this.isTrue;
      this.truth.setAttribute("aria-pressed", this.isTrue);
      this.draw();
    });
    this.place.append(
      element("div", { class: "pair" }, ...this.sides.map(({ part }) => part)),
      element("div", { class: "scrub" }, this.run, this.scrub, this.clock, this.truth),
    );
  }

  options(side) {
    const select = element("select", {});
    const groups = this.choose.options();
    for (const { name, options } of groups) {
      const made = options.map(({ value, text, title }) => element("option", { value, title: title ?? "" }, text));
      select.append(...(name ? [element("optgroup", { label: name }, ...made)] : made));
    }
    select.value = this.choose.value(side);
    select.addEventListener("change", () => this.choose.chosen(side, select.value));
    return select;
  }

  /** Asks again what differs from what was asked last. */
  ask() {
    [0, 1].forEach((side) => {
      const { select, meaning } = this.sides[side];
      if (this.choose) {
        select.value = this.choose.value(side);
        [meaning.textContent] = (select.selectedOptions[0]?.title ?? "").split(";");
      }
      const question = this.asks(side);
      const key = JSON.stringify(question);
      if (this.sides[side].key === key) return;
      this.sides[side].key = key;
      this.latest[side].ask(question);
    });
  }

  show(side, run) {
    this.runs[side] = run;
    this.sides[side].part.classList.remove("refused");
    this.draw();
    this.shown?.(side, run);
  }

  refuse(side, error) {
    this.runs[side] = null;
    this.sides[side].key = null;
    this.sides[side].part.classList.add("refused");
    this.sides[side].result.textContent = `This cannot be run: ${error.message}.`;
    this.sides[side].now.textContent = "";
  }

  draw() {
    const runs = this.runs.filter(Boolean);
    const width = Math.floor(this.sides[0].box.clientWidth);
    if (runs.length === 0 || width < 40) return;
    const times = runs.flatMap(({ frames, held, owed, calls, ended }) => [
      ...frames.flatMap(({ left, arrived }) => (arrived === null ? [left] : [left, arrived])),
      ...held.flatMap(({ from, to }) => [from, to]), ...owed.flatMap(({ from, to }) => [from, to]),
      ...calls.map(({ at }) => at), ended,
    ].filter((time) => time <= ended));
    this.scale = new TimeScale(times, { isTrue: this.isTrue, most: TALLEST });
    this.sides.forEach(({ conversation, result }, side) => {
      const run = this.runs[side];
      if (!run) return;
      conversation.draw(run, this.scale, width);
      result.replaceChildren(...this.sums(run, side));
    });
    this.go(this.position);
  }

  /** Shows both pictures as they are at a share of their height. */
  go(position) {
    if (!this.scale) return;
    this.position = position;
    const time = position >= 1 ? this.scale.end : this.scale.time(position * this.scale.height);
    this.scrub.value = Math.round(position * 1000);
    this.scrub.setAttribute("aria-valuetext", inTime(time));
    this.clock.textContent = inTime(time);
    this.sides.forEach(({ conversation, now }, side) => {
      const run = this.runs[side];
      if (!run) return;
      conversation.at(time);
      now.textContent = happening(run, time);
    });
  }

  start() {
    if (this.position >= 1) this.position = 0;
    let before = performance.now();
    const step = (at) => {
      const position = Math.min(1, this.position + (at - before) / TOUR_MS);
      before = at;
      this.go(position);
      if (position >= 1) this.stop();
      else this.tour = requestAnimationFrame(step);
    };
    this.run.textContent = "Pause";
    this.tour = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.tour);
    this.tour = null;
    this.run.textContent = "Run";
  }

  /** Goes through the picture once when the reader comes to it, if motion is welcome. */
  tourWhenSeen() {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) return;
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting) || !this.scale) return;
      seen.disconnect();
      this.position = 0;
      this.start();
    }, { threshold: 0.35 });
    // Whoever has moved the cursor already needs no tour.
    this.scrub.addEventListener("input", () => {
      seen.disconnect();
      this.stop();
    });
    seen.observe(this.sides[0].box);
  }
}

const strong = (text) => element("strong", {}, text);
const dot = () => element("span", { class: "dot" }, " \u00b7 ");

/** The sum of a transfer: time, segments, the longest hold. */
function sumOf(run) {
  const { counts, fewest } = run;
  const hold = longestHold(run);
  const short = counts.short_segments ? `, ${grouped(counts.short_segments)} short` : "";
  const least = fewest && counts.data_segments > fewest ? `; ${grouped(fewest)} would do` : "";
  const parts = [strong(inTime(run.elapsed_ns ?? run.ended)), dot(), `${plural(counts.data_segments, "segment")}${short}${least}`];
  if (hold && hold.lasted >= WORTH_SAYING) parts.push(dot(), element("span", { class: "held-for" }, `held ${inTime(hold.lasted)}`));
  return parts;
}

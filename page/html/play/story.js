// "Explain this stall": one finding as a story, with a picture of its segments.

const STORY_HEIGHT = 380; // pixels of the picture's time at most
const STORY_WIDTH = 520;
const STORY_GAP = 15; // pixels between two segments: each has its label
const STORY_GUTTER = 0.27;

class Story {
  constructor(place) {
    this.place = place;
    place.addEventListener("told", ({ detail }) => this.tell(detail));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  tell(story) {
    const { habit, happened, rule, cost, tier, bound, cure, ends, picture } = story;
    this.run = picture;
    const box = element("div", { class: "story-picture" });
    const [client, server] = ends;
    const steps = [...happened, rule].map((said) => element("li", {}, said));
    const doubt = bound ? `: it is ${tier} and no more, because ${bound}` : `, which is ${tier}`;
    const text = element("div", { class: "story-text" },
      element("p", { class: "story-habit" }, strong(habit)),
      element("p", { class: "aside" }, `Client ${client}, server ${server}.`),
      element("ol", {}, ...steps),
      element("p", {}, strong(`That cost ${cost}`), `${doubt}.`),
      element("p", {}, strong("What helps: "), `${cure}.`),
      questions(story));
    const side = element("div", {}, box);
    if (picture) side.append(this.scaleOf(picture));
    this.place.replaceChildren(side, text);
    this.conversation = picture ? new Conversation(box) : null;
    this.box = box;
    this.draw();
  }

  /** Says which part of the capture the picture shows, and by which scale; a button makes all times true. */
  scaleOf({ numbers: [first, last], at_s, ended, is_from_the_first }) {
    const begins = is_from_the_first ? "with the first segment of the connection" : "within the connection";
    this.isTrue = false;
    const scale = element("span");
    const button = element("button", { type: "button", class: "quiet", "aria-pressed": "false" }, "True times");
    const told = () => {
      scale.textContent = this.isTrue ? "Times are to scale. "
        : "Times are not to scale: short ones are stretched and long ones shortened. ";
      button.setAttribute("aria-pressed", String(this.isTrue));
    };
    button.addEventListener("click", () => {
      this.isTrue = !this.isTrue;
      told();
      this.draw();
    });
    told();
    return element("p", { class: "aside story-scale" },
      `Frames ${grouped(first)} to ${grouped(last)}: ${inTime(ended)}, from ${at_s.toFixed(6)} s after the capture's first frame. `
      + `The picture begins ${begins}; each segment stands where it was captured. `, scale, button);
  }

  draw() {
    const width = Math.min(STORY_WIDTH, Math.floor(this.box?.clientWidth ?? 0));
    if (!this.conversation || width < 40) return;
    const { frames, held, owed, ended } = this.run;
    const times = [...frames.map(({ left }) => left), ...[...held, ...owed].flatMap(({ from, to }) => [from, to]), ended];
    const scale = new TimeScale(times, { isTrue: this.isTrue, most: STORY_HEIGHT, least: STORY_GAP });
    this.conversation.draw(this.run, scale, width, STORY_GUTTER);
    this.conversation.at(scale.end);
  }
}

/** Every question that was asked before the side was accused, with its answer. */
function questions({ checks }) {
  const rows = checks.flatMap(({ asks, said, passed }) => [
    element("dt", {}, asks), element("dd", passed ? {} : { class: "not-passed" }, `${said[0].toUpperCase()}${said.slice(1)}.`),
  ]);
  return element("details", { class: "questions" },
    element("summary", {}, `How it was told from what only looks like a stall: ${plural(checks.length, "question")}`),
    element("dl", {}, ...rows));
}

new Story(document.querySelector("#story"));

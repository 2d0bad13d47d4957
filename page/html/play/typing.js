// A line to type in: each key becomes a write of one octet, at the time at which it was pressed.

const SAMPLE_TEXT = "ls -l /var/log";
const SAMPLE_MS = 90; // between two keys of a quick typist
const LONGEST_KEYS = 120;

const keysOf = ({ keys }) => keys.split("-").filter(Boolean).map(Number);
const typed = (values, side) => ({ ask: "typing", keys_ms: keysOf(values), policy: values[side ? "b" : "a"], rtt_ms: values.rtt });

class TypingLine {
  constructor(chapter, figure) {
    this.chapter = chapter;
    this.field = element("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: SAMPLE_TEXT });
    const again = element("button", { type: "button", class: "quiet" }, "Clear");
    again.addEventListener("click", () => {
      this.field.value = "";
      this.times = [];
      this.field.focus();
    });
    this.times = [];
    this.field.addEventListener("input", ({ inputType }) => {
      if (inputType?.startsWith("delete")) return;
      const now = performance.now();
      this.first = this.times.length ? this.first : now;
      if (this.times.length === LONGEST_KEYS) return;
      this.times.push(Math.round(now - this.first));
      this.chapter.change({ keys: this.times.join("-") });
    });
    figure.append(element("div", { class: "typing" }, element("label", {}, element("span", {}, "Type here"), this.field), again));
  }

  ask() {}
}

/** The longest and the mean time from a key to its echo. */
function sumOfTyping(run, side, values) {
  const keys = keysOf(values);
  const reads = run.calls.filter(({ by, is_write }) => by === 0 && !is_write);
  let read = 0;
  const echoes = reads.flatMap(({ at, octets }) => Array.from({ length: octets }, () => at / NS_PER_MS - keys[read++]));
  const mean = echoes.reduce((sum, it) => sum + it, 0) / (echoes.length || 1);
  const { data_segments } = run.counts;
  return [strong(plural(data_segments, "segment")), ` for ${plural(keys.length, "key")} \u00b7 echo after ${mean.toFixed(0)} ms, ${Math.max(0, ...echoes).toFixed(0)} ms at worst`];
}

// Where a time stands in a picture. Short times are stretched and long waits are shortened, so that a segment
// of microseconds and a wait of 200 ms fit one picture; or all times are true, if the reader prefers that.

const NS_PER_MS = 1e6;
const LEAST_GAP = 5; // pixels between two events that a reader can tell apart
const UNIT_NS = 30_000; // gaps far below this have the least room
const PER_E_FOLD = 11; // pixels

class TimeScale {
  /** `times` are those of the events of all pictures that run in step, in nanoseconds; `least` pixels stand between any two. */
  constructor(times, { isTrue, most, least }) {
    const sorted = [...new Set(times.map((it) => Math.max(0, it)))].sort((a, b) => a - b);
    this.times = sorted.length ? sorted : [0];
    if (this.times[0] !== 0) this.times.unshift(0);
    const last = this.times.at(-1) || 1;
    const gaps = this.times.slice(1).map((time, at) => time - this.times[at]);
    const stretched = gaps.map((gap) => (least ?? LEAST_GAP * Math.min(1, gap / 2000)) + PER_E_FOLD * Math.log1p(gap / UNIT_NS));
    const whole = stretched.reduce((sum, it) => sum + it, 0) || 1;
    const height = Math.min(most, Math.max(160, whole));
    const heights = isTrue ? gaps.map((gap) => (gap / last) * height) : stretched.map((it) => (it / whole) * height);
    this.places = [0];
    for (const it of heights) this.places.push(this.places.at(-1) + it);
    this.height = this.places.at(-1);
  }

  /** The place of a time, in pixels. */
  y(time) {
    return between(this.times, this.places, time);
  }

  /** The time at a place, in nanoseconds. */
  time(y) {
    return between(this.places, this.times, y);
  }

  get end() {
    return this.times.at(-1);
  }
}

/** The value at `x` of the line through the points (xs, ys). */
function between(xs, ys, x) {
  if (x <= xs[0]) return ys[0];
  if (x >= xs.at(-1)) return ys.at(-1);
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  const share = (x - xs[low]) / (xs[high] - xs[low] || 1);
  return ys[low] + share * (ys[high] - ys[low]);
}

// Numbers and states in words.

const grouped = (value) => Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
const plural = (value, noun) => `${grouped(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A time with as many digits as mean something. */
function inTime(ns) {
  const ms = ns / NS_PER_MS;
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 100) return `${grouped(ms)} ms`;
  if (ms >= 10) return `${ms.toFixed(1)} ms`;
  return ms >= 1 ? `${ms.toFixed(2)} ms` : `${grouped(ns / 1000)} \u00b5s`;
}

function inOctets(value) {
  return value >= 1024 && value % 1024 === 0 ? `${value / 1024} KiB` : `${grouped(value)} octets`;
}

/** What stands on an arrow; in a capture, the frame's number, too. */
function labelOf({ len, syn, fin, ack, frame }) {
  const said = () => {
    if (syn) return "SYN";
    if (len > 0) return fin ? `${grouped(len)} FIN` : grouped(len);
    if (fin) return "FIN";
    return ack > 0 ? `ack ${grouped(ack)}` : "ack";
  };
  return frame ? `#${frame}: ${said()}` : said();
}

/** What is going on at a time, in a sentence. */
function happening({ frames, held, owed, ends, ended, is_part }, time) {
  const inside = ({ from, to }) => time >= from && time < to;
  if (time >= ended) return is_part ? "And so it goes on." : "All is there.";
  const said = [];
  const waits = held.filter(inside).sort((a, b) => b.to - b.from - (a.to - a.from))[0];
  if (waits) said.push(`The ${ends[waits.by]} holds ${plural(waits.octets, "octet")}: ${waits.said}.`);
  const owes = owed.filter((it) => inside(it) && (!waits || it.by !== waits.by))[0];
  if (owes) {
    const until = owes.is_timed ? `until its timer fires in ${inTime(owes.to - time)}` : "for now";
    said.push(`The ${ends[owes.by]} puts its acknowledgment off ${until}.`);
  }
  const flying = frames.filter(({ left, arrived }) => time >= left && arrived !== null && time < arrived);
  if (said.length === 0 && flying.length > 0) {
    const data = flying.filter(({ len }) => len > 0);
    said.push(data.length ? `${plural(data.length, "segment")} with data under way.` : "An acknowledgment is under way.");
  }
  return said.join(" ") || "The programs work.";
}

/** The longest wait of a picture: what a rule held, and for how long. */
function longestHold({ held, ended }) {
  return held.map((it) => ({ ...it, lasted: Math.min(it.to, ended) - it.from }))
    .sort((a, b) => b.lasted - a.lasted)[0];
}

const WORTH_SAYING = 0.5 * NS_PER_MS; // a shorter hold is only the time between two calls

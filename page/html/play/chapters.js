// The chapters: what each figure begins with, what can be moved, and what it asks.

const exchangePair = { options: rules, asks: exchange };

const writeSlider = (chapter) => ({ kind: "slider", key: "app", label: "Each write", values: withValue(WRITES, chapter.values.app), said: inOctets });
const tripSlider = (chapter) => ({ kind: "slider", key: "rtt", label: "Round trip", values: withValue(TRIPS_US, chapter.values.rtt), said: inMicros });
const lasts = (run) => inTime(run.elapsed_ns ?? run.ended);
const heldFor = (run) => {
  const hold = longestHold(run);
  return hold && hold.lasted >= WORTH_SAYING ? inTime(hold.lasted) : "no time";
};
const sizesOf = (run) => run.frames.filter(({ from, len }) => from === 1 && len > 0).map(({ len }) => grouped(len)).join(", ");

/** Mogul & Minshall's Figures 7 to 12, as papers' experiments have them. */
const FIGURES = {
  7: { a: "off", b: "nagle", medium: "ethernet", app: 131_072, socket: 131_072 },
  8: { a: "nagle", b: "off", medium: "ethernet", app: 131_072, socket: 131_072 },
  9: { a: "minshall", b: "nagle", medium: "fddi", app: 4096, socket: 131_072 },
  10: { a: "msmv", b: "nagle", medium: "fddi", app: 32_768, socket: 16_384 },
  11: { a: "eom", b: "nagle", medium: "fddi", app: 32_768, socket: 65_536 },
  12: { a: "e+m+m", b: "msmv", medium: "fddi", app: 32_768, socket: 16_384 },
};

const PLANS = [
  {
    id: "idea",
    begin: { ...PAPER, model: "literal", medium: "ethernet-full-duplex", length: 1300, app: 1000, transfers: 2 },
    controls: (chapter) => [lengthSlider(6000, 100), writeSlider(chapter)],
    more: everything, pair: exchangePair,
    says: { lasts: ([a]) => lasts(a), other: ([, b]) => lasts(b), held: ([a]) => heldFor(a) },
  },
  {
    id: "octet",
    begin: { ...PAPER, a: "msmv|infer", b: "msmv", medium: "fddi", length: 12_289, timer: 200 },
    controls: (chapter) => [{ kind: "slider", key: "length", label: "Answer", from: 12_200, to: 12_400, step: 1, said: inOctets }, writeSlider(chapter)],
    more: everything, pair: exchangePair,
    says: { sizes: ([a]) => sizesOf(a), held: ([a]) => heldFor(a), lasts: ([, b]) => lasts(b) },
  },
  {
    id: "lengths",
    begin: { ...PAPER, ...FIGURES[8], length: 50_000, step: 100, figure: 8 },
    mend(values, some) {
      if (some.figure && FIGURES[some.figure]) Object.assign(values, FIGURES[some.figure]);
    },
    before: (chapter, figure) => sweepOf(chapter, figure),
    controls: (chapter) => [
      { kind: "buttons", key: "figure", label: "Figure", options: Object.keys(FIGURES).map((it) => ({ value: Number(it), text: it })) },
      lengthSlider(100_000, 100), writeSlider(chapter),
      { kind: "slider", key: "socket", label: "Send buffer", values: withValue(BUFFERS, chapter.values.socket), said: inOctets },
    ],
    more: everything, pair: exchangePair,
  },
  {
    id: "p-http",
    begin: { a: "1", b: "3", seed: 1 },
    before: (chapter, figure) => [new WaysChart(chapter, figure)],
    more: () => [{ kind: "slider", key: "seed", label: "Chance", from: 1, to: 50, step: 1, said: (it) => `seed ${it}` }],
    pair: {
      label: "Fetched over", sums: (run) => [strong(lasts(run)), ` for ${plural(run.documents.length, "document")}`],
      options: (lists) => [{ options: lists.ways.map((text, at) => ({ value: String(at), text })) }],
      asks: ({ a, b, seed }, side) => ({ ask: "retrieval", way: Number(side ? b : a), seed }),
    },
  },
  {
    id: "deadlock",
    begin: { a: "nagle", b: "off", s: 16 * KIB, r: 32 * KIB },
    before: (chapter, figure) => [new Plane(chapter, figure), new Progress(chapter, figure)],
    controls: () => [
      { kind: "slider", key: "s", label: "Send buffer", values: ATM_BUFFERS, said: inOctets },
      { kind: "slider", key: "r", label: "Receive buffer", values: ATM_BUFFERS, said: inOctets },
    ],
    pair: {
      sums: sumOfDeadlock, asks: deadlock,
      options: (lists) => [{ options: lists.policies.map(({ name, label, summary }) => ({ value: name, text: label, title: summary })) }],
    },
    says: {
      pace: ([a]) => `${a.mbit_per_s.toFixed(2)} Mbit/s`,
      share: ([a, b]) => `${((a.mbit_per_s / b.mbit_per_s) * 100).toFixed(1)} %`,
    },
  },
  {
    id: "parity",
    begin: { a: "strict-nagle", b: "doupnik", file: 34_000 },
    before: (chapter, figure) => [new Sizes(chapter, figure)],
    controls: () => [{ kind: "slider", key: "file", label: "File", from: 100, to: 40_000, step: 100, said: inOctets }],
    pair: {
      sums: sumOfParity, asks: parity,
      options: (lists) => [{ options: lists.policies.map(({ name, label, summary }) => ({ value: name, text: label, title: summary })) }],
    },
  },
  {
    id: "typing",
    begin: { a: "nagle", b: "off", rtt: 150, keys: [...SAMPLE_TEXT].map((_, at) => at * SAMPLE_MS).join("-") },
    before: (chapter, figure) => [new TypingLine(chapter, figure)],
    controls: () => [{ kind: "slider", key: "rtt", label: "Round trip", values: [1, 5, 20, 50, 100, 150, 200, 300, 500], said: (it) => `${it} ms` }],
    pair: {
      asks: typed, sums: sumOfTyping,
      options: (lists) => [{ options: lists.policies.map(({ name, label, summary }) => ({ value: name, text: label, title: summary })) }],
    },
  },
  {
    id: "overhead",
    // At this phase delay and overhead are about their means, where the chart has its point.
    begin: { fast: "slow", limit: 30, tick: 200, phase: 160 },
    before: (chapter, figure) => [new Tradeoff(chapter, figure)],
    controls: () => [
      { kind: "choice", key: "fast", label: "50 writes of 10 octets", options: [{ value: "slow", text: "one every 10 ms" }, { value: "fast", text: "as fast as it can" }] },
      { kind: "slider", key: "limit", label: "Limit", values: [1, ...Array.from({ length: 50 }, (_, at) => (at + 1) * 10)], said: inOctets },
      { kind: "slider", key: "tick", label: "ACK clock", from: 10, to: 390, step: 10, said: (it) => `${it} ms` },
      { kind: "slider", key: "phase", label: "First tick", from: 0, to: 200, step: 1, said: (it) => `after ${it} ms` },
    ],
    pair: { asks: limited, sums: sumOfLimit, names: ["With the limit", "TCP_NODELAY (limit 1)"] },
  },
  {
    id: "today",
    begin: { ...LINUX, length: 300 },
    controls: (chapter) => [lengthSlider(6000, 50), writeSlider(chapter), tripSlider(chapter)],
    more: everything, pair: exchangePair,
    says: { lasts: ([a]) => lasts(a), other: ([, b]) => lasts(b), held: ([a]) => heldFor(a) },
  },
  {
    id: "flood",
    begin: { ...LINUX, a: "nodelay", b: "default", length: 6000, app: 100, rtt: 80_000 },
    controls: (chapter) => [lengthSlider(20_000, 100), writeSlider(chapter), tripSlider(chapter)],
    more: everything, pair: exchangePair,
    says: { many: ([a]) => grouped(a.counts.data_segments), few: ([, b]) => grouped(b.counts.data_segments) },
  },
  {
    id: "flush",
    begin: { ...LINUX, a: "flush-on-block-simple", b: "nodelay", length: 1200, app: 100, rtt: 1000 },
    controls: (chapter) => [lengthSlider(20_000, 100), writeSlider(chapter), tripSlider(chapter)],
    more: everything, pair: exchangePair,
    says: { few: ([a]) => plural(a.counts.data_segments, "segment"), lasts: ([a]) => lasts(a), many: ([, b]) => plural(b.counts.data_segments, "segment") },
  },
];

// What a transfer depends on: the values of a chapter as the module, and the command line, name them.

const KIB = 1024;
const WRITES = [1, 10, 100, 200, 300, 500, 536, 700, 1000, 1460, 2000, 2920, 4096, 8192, 16384, 32768, 65536, 131072];
const BUFFERS = [4, 8, 16, 24, 32, 48, 64, 128, 256].map((it) => it * KIB);
const SEGMENTS = [512, 536, 1000, 1220, 1448, 1460, 4312, 8192, 8960, 9204];
const TRIPS_US = [0, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 40_000, 80_000, 150_000, 300_000];
const LOSSES = [0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1];
const TIMERS_MS = [10, 20, 40, 50, 100, 200, 500];

/** The values of a transfer between the paper's hosts. `transfers` of them are made, and the last is shown. */
const PAPER = {
  a: "nagle", b: "off", length: 1300, app: 4096, socket: 65_536, hosts: "paper", model: "fitted",
  medium: "ethernet", mss: 0, ack: "", timer: 0, rtt: 0, loss: 0, seed: 1, step: 0, transfers: 5,
};
const LINUX = { ...PAPER, hosts: "linux-veth", a: "default", b: "nodelay", app: 200, rtt: 200, transfers: 40, socket: 65_536 };

/** The lengths of a trial: one again and again, or every `step` octets through all of them. */
function lengthsOf({ length, step, transfers }) {
  if (!step) return { from: length, to: length, step: 1, transfers };
  const from = length % step || step;
  return { from, to: from + 999 * step, step, transfers: null };
}

/** A trial under a side's rule; "|infer" after a rule is a receiver that infers the sender's buffer. */
function trial(values, side) {
  const [policy, receiver] = values[side ? "b" : "a"].split("|");
  const isPaper = values.hosts === "paper";
  return {
    hosts: values.hosts, policy, app_buffer: values.app, socket_buffer: values.socket, lengths: lengthsOf(values),
    rtt: values.rtt, loss: values.loss, seed: values.seed, mss: values.mss || null,
    ...(isPaper ? {
      model: values.model, medium: values.medium, infer: receiver === "infer", ack_policy: values.ack || null,
      ack_timer: values.timer ? { cyclic: values.timer * 1000 } : null,
    } : {}),
  };
}

/** The transfer of that trial that is shown. */
function transferOf(values) {
  const { from, step, transfers } = lengthsOf(values);
  return transfers === null ? (values.length - from) / step : transfers - 1;
}

const exchange = (values, side) => ({ ask: "exchange", setting: trial(values, side), transfer: transferOf(values) });

/** Every choice of a rule for the hosts of a chapter. */
function rules(lists, values) {
  const of = (list) => list.map(({ name, label, summary }) => ({ value: name, text: label, title: summary }));
  if (values.hosts !== "paper") {
    return [{ name: "Socket options", options: of(lists.socket_policies) }, { name: "Other rules", options: of(lists.policies) }];
  }
  const inferring = lists.policies.filter(({ name }) => ["nagle", "minshall", "msmv", "eom", "off"].includes(name));
  return [
    { name: "Rules", options: of(lists.policies) },
    { name: "With a receiver that infers the buffer", options: of(inferring).map((it) => ({ ...it, value: `${it.value}|infer`, text: `${it.text}, inferring` })) },
  ];
}

const lengthSlider = (to, step) => ({ kind: "slider", key: "length", label: "Answer", from: step, to, step, said: inOctets });
const inMicros = (us) => (us === 0 ? "none" : inTime(us * 1000));
const inShare = (share) => `${(share * 100).toFixed(share && share < 0.01 ? 1 : 0)} %`;

/** Everything else that a reader may change. */
function everything(lists, values) {
  const isPaper = values.hosts === "paper";
  const common = [
    { kind: "slider", key: "app", label: "Each write", values: withValue(WRITES, values.app), said: inOctets },
    { kind: "slider", key: "socket", label: "Send buffer", values: withValue(BUFFERS, values.socket), said: inOctets },
    { kind: "slider", key: "rtt", label: "Round trip beyond the link", values: withValue(TRIPS_US, values.rtt), said: inMicros },
    { kind: "slider", key: "mss", label: "MSS", values: [0, ...SEGMENTS], said: (it) => (it ? `${grouped(it)} octets` : "the medium's") },
    { kind: "slider", key: "loss", label: "Segments lost", values: LOSSES, said: inShare },
    { kind: "slider", key: "seed", label: "Chance", from: 1, to: 50, step: 1, said: (it) => `seed ${it}` },
  ];
  if (!isPaper) return common;
  return [
    ...common.slice(0, 2),
    { kind: "choice", key: "medium", label: "Medium", options: lists.media.map(({ name }) => ({ value: name, text: name })) },
    { kind: "choice", key: "ack", label: "Receiver acknowledges",
      options: [{ value: "", text: "as the hosts do" }, ...lists.ack_policies.map(({ name }) => ({ value: name, text: name }))] },
    { kind: "slider", key: "timer", label: "ACK clock", values: [0, ...TIMERS_MS], said: (it) => (it ? `${it} ms` : "the hosts'") },
    { kind: "choice", key: "model", label: "Hosts", options: [{ value: "fitted", text: "as measured" }, { value: "literal", text: "as the text says" }] },
    ...common.slice(2),
  ];
}

function withValue(list, value) {
  return list.includes(value) ? list : [...list, value].sort((a, b) => a - b);
}

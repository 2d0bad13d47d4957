// The messages of the game: what a program writes in three seconds of a network, drawn from a seed.

const GAME_MS = 3000; // of the network
const SLOWER = 20; // so many times slower than a network, for people
const PAUSE_MS = [70, 115]; // between messages: longer than any rule holds one

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Kinds of messages: the octets of each write, and the pause before it. */
const KINDS_OF_MESSAGES = [
  { share: 0.3, of: (draw) => [[draw(60, 320), 0]] },
  { share: 0.35, of: (draw) => [[draw(110, 220), 0], [draw(300, 1400), draw(9, 22)]] },
  { share: 0.2, of: (draw) => Array.from({ length: Math.round(draw(3, 5)) }, (_, at) => [draw(60, 160), at ? draw(8, 18) : 0]) },
  { share: 0.15, of: (draw) => [[1000, 0], [1000, draw(8, 16)], [draw(300, 900), draw(8, 16)]] },
];

/** The messages of a seed: each a list of [microseconds, octets]. */
function messagesOf(seed) {
  const random = chance(seed);
  const draw = (from, to) => from + random() * (to - from);
  const messages = [];
  let at = 40;
  while (at < GAME_MS - 120) {
    let rest = random();
    const kind = KINDS_OF_MESSAGES.find(({ share }) => (rest -= share) < 0) ?? KINDS_OF_MESSAGES[0];
    const message = kind.of(draw).map(([octets, pause]) => {
      at += pause;
      return [Math.round(at * 1000), Math.round(octets)];
    });
    messages.push(message);
    at += draw(...PAUSE_MS);
  }
  return messages;
}

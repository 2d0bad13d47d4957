// Runs the module in Node, as worker.js does in a browser: node module.mjs MODULE < REQUESTS
// A request is a line of JSON: {"names": [...], "paths": [...], "ask": ["json", ...]}. So is an answer:
// {"unread": [...], "remarks": [...], "json": "...", ...}. {"question": {...}} is a question of "Play".

import { closeSync, openSync, readFileSync, readSync } from "node:fs";

const compiled = await WebAssembly.compile(readFileSync(process.argv[2]));

function answer({ question, names = [], paths = [], ask, frames = 1000, stopAfter = Infinity }) {
  const files = paths.map((path) => openSync(path));
  let module = null;
  let parts = [];
  let complaint = "";
  const memory = (from, length) => Buffer.from(module.memory.buffer, from, length);
  const host = {
    read: (file, at, into, length) => readSync(files[file], memory(into, length), 0, length, at),
    write: (from, length) => parts.push(Buffer.from(memory(from, length))),
    say: (from, length) => (complaint = memory(from, length).toString()),
  };
  const put = (text) => {
    const octets = Buffer.from(text);
    octets.copy(memory(module.room(octets.length), octets.length));
    return octets.length;
  };
  const written = (call) => {
    parts = [];
    call();
    return Buffer.concat(parts);
  };
  module = new WebAssembly.Instance(compiled, { host }).exports;
  if (question) {
    let failed = 0;
    const answer = written(() => (failed = module.play(put(JSON.stringify(question)))));
    return failed ? { error: complaint } : JSON.parse(answer);
  }
  module.begin();
  for (const name of names) module.file(put(name));
  module.start();
  const began = performance.now();
  for (let steps = 0; module.step(frames); steps += 1) {
    if (steps >= stopAfter) module.stop();
  }
  const milliseconds = performance.now() - began;
  const outcome = JSON.parse(written(() => module.outcome()));
  const documents = {
    json: () => written(() => module.json()).toString(),
    csv: () => written(() => module.csv()).toString(),
    html: () => written(() => module.html(put("Made here."))).toString(),
    // Of the first stall: "frame" says which.
    story: () => {
      const [stall] = outcome.stalls;
      return stall ? { frame: stall.frame, ...JSON.parse(written(() => module.story(stall.capture, stall.frame)).toString()) } : null;
    },
    annotated: () => written(() => module.annotated()).toString("base64"),
  };
  const asked = Object.fromEntries(ask.map((what) => [what, documents[what]()]));
  files.forEach((file) => closeSync(file));
  return { ...outcome, ...asked, complaint, milliseconds, memory: module.memory.buffer.byteLength };
}

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  console.log(JSON.stringify(answer(JSON.parse(line))));
}

"use strict";

// Owns the module, and reads the files that the page was given, slice by slice.

let module = null; // the instance's exports
let files = [];
let names = [];
let parts = [];
let complaint = "";
let readTo = { file: 0, at: 0 };
let isStopped = false;
const reader = new FileReaderSync();
const channel = new MessageChannel();

const memory = (from, length) => new Uint8Array(module.memory.buffer, from, length);
const text = (from, length) => new TextDecoder().decode(memory(from, length));

const host = {
  read(file, at, into, length) {
    try {
      const slice = new Uint8Array(reader.readAsArrayBuffer(files[file].slice(at, at + length)));
      memory(into, slice.length).set(slice);
      readTo = { file, at: at + slice.length };
      return slice.length;
    } catch {
      return -1;
    }
  },
  write(from, length) {
    parts.push(memory(from, length).slice());
  },
  say(from, length) {
    complaint = text(from, length);
  },
};

/** Puts text into the module's room; returns its length in octets. */
function put(said) {
  const octets = new TextEncoder().encode(said);
  memory(module.room(octets.length), octets.length).set(octets);
  return octets.length;
}

/** What the module writes when it is asked. */
function written(ask) {
  parts = [];
  ask();
  const blob = new Blob(parts);
  parts = [];
  return blob;
}

/** The same, as JSON. A few hundred octets. */
function told(ask) {
  parts = [];
  ask();
  const whole = new TextDecoder().decode(parts[0]);
  parts = [];
  return JSON.parse(whole);
}

/** Lets what was asked meanwhile be heard. */
const breath = () => new Promise((done) => {
  channel.port1.onmessage = done;
  channel.port2.postMessage(0);
});

const STEP_MS = 40;
const TELL_MS = 100;

async function read(total, before) {
  let frames = 1000;
  let toldAt = 0;
  for (;;) {
    const began = performance.now();
    const goesOn = module.step(frames);
    const now = performance.now();
    frames = Math.min(1e6, Math.max(500, Math.round((frames * STEP_MS) / Math.max(now - began, 1))));
    if (!goesOn) return;
    if (now - toldAt >= TELL_MS) {
      toldAt = now;
      const share = total ? (before[readTo.file] + readTo.at) / total : 0;
      postMessage({ is: "progress", share, ...told(module.progress) });
      await breath();
    }
    if (isStopped) {
      module.stop();
      return;
    }
  }
}

async function diagnose(given) {
  const instance = await WebAssembly.instantiate(given.module, { host });
  module = instance.exports;
  files = given.files;
  names = given.names;
  module.begin();
  for (const name of names) module.file(put(name));
  module.start();
  const before = [];
  let total = 0;
  for (const file of files) {
    before.push(total);
    total += file.size;
  }
  await read(total, before);
  const outcome = told(module.outcome);
  postMessage({ is: "judged", ...outcome });
  const page = outcome.captures ? await written(() => module.html(put(given.origin))).text() : "";
  postMessage({ is: "done", page, ...outcome });
}

/** Answers a question of "Play". After a panic the next question gets a fresh instance. */
async function play(given) {
  try {
    module ??= (await WebAssembly.instantiate(given.module, { host })).exports;
    parts = [];
    const failed = module.play(put(given.question));
    if (failed) throw new Error(complaint);
    postMessage({ is: "answer", answer: JSON.parse(new TextDecoder().decode(parts[0])) });
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) module = null;
    postMessage({ is: "answer", error: complaint || String(error) });
  }
}

const DOCUMENTS = {
  json: ["application/json", () => module.json()],
  csv: ["text/csv", () => module.csv()],
  annotated: ["application/x-pcapng", () => module.annotated()],
};

addEventListener("message", async ({ data }) => {
  try {
    complaint = "";
    if (data.is === "diagnose") await diagnose(data);
    else if (data.is === "play") await play(data);
    else if (data.is === "stop") isStopped = true;
    else if (data.is === "explain") {
      const story = await written(() => module.story(data.capture, data.frame)).text();
      postMessage({ is: "explained", story: complaint || story });
    } else if (data.is === "save") {
      const [type, ask] = DOCUMENTS[data.what];
      const blob = written(ask).slice(0, undefined, type);
      if (complaint) postMessage({ is: "unsaved", why: complaint });
      else postMessage({ is: "saved", what: data.what, blob: new Blob([blob], { type }) });
    }
  } catch (error) {
    postMessage({ is: "failed", why: complaint || String(error) });
  }
});

"use strict";

// Owns the module, and reads the files that the page was given, slice by slice.

let module = null; // the instance's exports
let files = [];
let names = [];
let parts = [];
const piece = new Uint8Array(1 << 20);
let filled = 0; // octets of the piece
let complaint = "";
let readTo = { file: 0, at: 0 };
let isStopped = false;
const reader = new FileReaderSync();
const channel = new MessageChannel();

const memory = (from, length) => new Uint8Array(module.memory.buffer, from, length);
const text = (from, length) => new TextDecoder().decode(memory(from, length));

/** A part of a file; or of its octets, where the page had to read it whole. */
function sliceOf(file, at, length) {
  if (file instanceof ArrayBuffer) return new Uint8Array(file, Math.min(at, file.byteLength), Math.max(0, Math.min(length, file.byteLength - at)));
  return new Uint8Array(reader.readAsArrayBuffer(file.slice(at, at + length)));
}

/** Whether files can be read here: WebKit's workers cannot read those of a page that was opened from disk. */
function canRead(given) {
  try {
    for (const file of given) sliceOf(file, 0, 1);
    return true;
  } catch {
    return false;
  }
}

const BLOCK = 16 << 20; // octets: a browser needs as long for a block of 1 MiB as for one of 5
const block = { file: -1, at: 0, octets: new Uint8Array(0) };
const nowhere = new MessageChannel();
nowhere.port2.close();

/** The octets of a file from a place on, as far as its last block reaches. */
function blockAt(file, at) {
  if (files[file] instanceof ArrayBuffer) return sliceOf(files[file], at, BLOCK);
  const isInside = block.file === file && at >= block.at && at < block.at + block.octets.length;
  if (isInside) return block.octets.subarray(at - block.at);
  // What is sent nowhere is freed at once. Left to be collected, the blocks of a large file would fill the memory.
  if (block.octets.length > 0) nowhere.port1.postMessage(0, [block.octets.buffer]);
  Object.assign(block, { file: -1, octets: new Uint8Array(0) });
  Object.assign(block, { octets: sliceOf(files[file], at, BLOCK), file, at });
  return block.octets;
}

const host = {
  read(file, at, into, length) {
    try {
      const slice = blockAt(file, at).subarray(0, length);
      memory(into, slice.length).set(slice);
      readTo = { file, at: at + slice.length };
      return slice.length;
    } catch {
      return -1;
    }
  },
  write(from, length) {
    const octets = memory(from, length);
    for (let at = 0; at < length; ) {
      if (filled === piece.length) flush();
      const taken = octets.subarray(at, at + piece.length - filled);
      piece.set(taken, filled);
      filled += taken.length;
      at += taken.length;
    }
  },
  say(from, length) {
    complaint = text(from, length);
  },
};

/** Ends the piece that is being filled: the module writes a few octets at a time. */
function flush() {
  if (filled) parts.push(piece.slice(0, filled));
  filled = 0;
}

/** Puts text into the module's room; returns its length in octets. */
function put(said) {
  const octets = new TextEncoder().encode(said);
  memory(module.room(octets.length), octets.length).set(octets);
  return octets.length;
}

/** What the module writes when it is asked, in pieces. */
function pieces(ask) {
  parts = [];
  filled = 0;
  ask();
  flush();
  return parts;
}

/** The same, as text. A blob would not do: WebKit's workers cannot read their own. */
function written(ask) {
  const decoder = new TextDecoder();
  return pieces(ask).map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
}

/** The same, as JSON. */
const told = (ask) => JSON.parse(written(ask));

/** Lets what was asked meanwhile be heard. */
const breath = () => new Promise((done) => {
  channel.port1.onmessage = done;
  channel.port2.postMessage(0);
});

const STEP_MS = 40;
const TELL_MS = 100;

async function read(total, before) {
  let frames = 200;
  let toldAt = 0;
  for (;;) {
    const began = performance.now();
    const goesOn = module.step(frames);
    const now = performance.now();
    frames = Math.min(1e6, Math.max(10, Math.round((frames * STEP_MS) / Math.max(now - began, 1))));
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
  if (!given.isSecond && !canRead(given.files)) return void postMessage({ is: "unreadable" });
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
    total += file.size ?? file.byteLength;
  }
  await read(total, before);
  const outcome = told(module.outcome);
  postMessage({ is: "judged", ...outcome });
  const page = outcome.captures ? written(() => module.html(put(given.origin))) : "";
  postMessage({ is: "done", page, ...outcome });
}

/** Answers a question of "Play". After a panic the next question gets a fresh instance. */
async function play(given) {
  try {
    module ??= (await WebAssembly.instantiate(given.module, { host })).exports;
    let failed = 0;
    const answer = written(() => (failed = module.play(put(given.question))));
    if (failed) throw new Error(complaint);
    postMessage({ is: "answer", answer: JSON.parse(answer) });
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
      const story = written(() => module.story(data.capture, data.frame));
      postMessage({ is: "explained", story: complaint || story });
    } else if (data.is === "save") {
      const [type, ask] = DOCUMENTS[data.what];
      const octets = pieces(ask);
      if (complaint) postMessage({ is: "unsaved", why: complaint });
      // The pieces and not a blob of them, which would belong to this worker.
      else postMessage({ is: "saved", what: data.what, type, octets }, octets.map(({ buffer }) => buffer));
    }
  } catch (error) {
    postMessage({ is: "failed", why: complaint || String(error) });
  }
});

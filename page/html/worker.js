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

/** Frees octets at once, by sending them nowhere. Left to be collected, the blocks of a large file would fill the memory. */
function free(octets) {
  if (octets.length > 0) nowhere.port1.postMessage(0, [octets.buffer]);
}

const AHEAD = 8 << 20; // octets of a block that is read ahead
const MOST_AHEAD = 2; // blocks

/** Another worker that reads the files' next blocks while this one works. */
class Ahead {
  constructor(port) {
    Object.assign(this, { port, blocks: [], isOver: false, heard: () => {} });
    port.onmessage = ({ data }) => {
      if (data.octets) this.blocks.push(data);
      else this.isOver = true;
      this.heard();
    };
  }

  /** The block of a place in a file, if it is here; the blocks before it are freed. */
  take(file, at) {
    while (this.blocks.length > 0) {
      const [first] = this.blocks;
      const end = first.at + first.octets.length;
      // At the end of a file the next one's block may be here.
      if (first.file > file || (first.file === file && first.at > at)) return null;
      this.blocks.shift();
      this.port.postMessage(0);
      if (first.file === file && at < end) return first;
      free(first.octets);
    }
    return null;
  }

  /** Waits until a block is here, or all were. */
  async ready() {
    while (this.blocks.length === 0 && !this.isOver) await new Promise((done) => (this.heard = done));
  }

  /** The octets that can be read without waiting. */
  get octets() {
    return this.isOver ? Infinity : this.blocks.reduce((sum, { octets }) => sum + octets.length, 0);
  }
}

let ahead = null;

/** Reads files ahead for another worker, which says when it has taken a block. */
async function readAhead({ files: all, port }) {
  let room = MOST_AHEAD;
  let taken = () => {};
  port.onmessage = () => {
    room += 1;
    taken();
  };
  for (const [file, { size }] of all.entries()) {
    for (let at = 0; at < size; at += AHEAD) {
      while (room === 0) await new Promise((done) => (taken = done));
      room -= 1;
      let octets = null;
      try {
        octets = sliceOf(all[file], at, AHEAD);
      } catch {
        // Whoever wants the block reads it itself, and says why it cannot.
        return void port.postMessage({});
      }
      port.postMessage({ file, at, octets }, [octets.buffer]);
    }
  }
  port.postMessage({});
}

/** The octets of a file from a place on: `length` of them or more, fewer at its end. */
function blockAt(file, at, length) {
  if (files[file] instanceof ArrayBuffer) return sliceOf(files[file], at, length);
  const isInside = block.file === file && at >= block.at && at < block.at + block.octets.length;
  if (isInside) return block.octets.subarray(at - block.at);
  free(block.octets);
  Object.assign(block, { file: -1, octets: new Uint8Array(0) });
  const found = ahead?.take(file, at);
  Object.assign(block, found ?? { octets: sliceOf(files[file], at, ahead ? length : BLOCK), file, at });
  return block.octets.subarray(at - block.at);
}

const host = {
  read(file, at, into, length) {
    try {
      const slice = blockAt(file, at, length).subarray(0, length);
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
  let done = 0;
  let toldAt = 0;
  for (;;) {
    await ahead?.ready();
    const at = (before[readTo.file] ?? 0) + readTo.at;
    // No more frames than will be there, by their length so far.
    if (ahead && done) frames = Math.max(10, Math.min(frames, Math.floor(ahead.octets / (at / done))));
    const began = performance.now();
    const goesOn = module.step(frames);
    const now = performance.now();
    done += frames;
    frames = Math.min(1e6, Math.max(10, Math.round((frames * STEP_MS) / Math.max(now - began, 1))));
    if (!goesOn) return;
    if (now - toldAt >= TELL_MS) {
      toldAt = now;
      const share = total ? (before[readTo.file] + readTo.at) / total : 0;
      postMessage({ is: "progress", share, ...told(module.progress) });
      await breath();
    } else if (ahead) await breath();
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
  ahead = given.ahead ? new Ahead(given.ahead) : null;
  await read(total, before);
  ahead = null;
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
    else if (data.is === "read-ahead") await readAhead(data);
    else if (data.is === "stop") isStopped = true;
    else if (data.is === "explain") {
      const story = written(() => module.story(data.capture, data.frame));
      postMessage({ is: "explained", story: complaint ? null : JSON.parse(story), why: complaint });
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

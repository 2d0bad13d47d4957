// From dropped files to the report on the screen. The work is done by worker.js.

const view = find("#diagnose");
const parts = { door: find(".door"), below: find(".below"), reading: find(".reading"), report: find(".report") };
let worker = null;
let helper = null; // reads ahead for the worker
let shown = null; // what the report is of: { name, page }

/** Shows one state of the view: "empty", "reading" or "report". */
function show(state) {
  view.dataset.state = state;
  document.body.classList.toggle("full", state === "report");
  parts.door.hidden = parts.below.hidden = state !== "empty";
  parts.reading.hidden = state !== "reading";
  parts.report.hidden = state !== "report";
}

const number = (value) => value.toLocaleString("en").replaceAll(",", "\u202f");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
const size = (length) => (length < 1e6 ? `${Math.max(1, Math.round(length / 1e3))} kB` : `${number(Math.round(length / 1e6))} MB`);
const time = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

function nameOf(files) {
  if (files.length === 1) return files[0].name;
  return `${files[0].name} and ${counted(files.length - 1, "other file")}`;
}

const AHEAD_FROM = 64e6; // octets: less is read in less than half a second

/** Another worker that reads large files ahead; what the first one hears of it. */
function readAhead(files, length) {
  if (length < AHEAD_FROM) return null;
  const { port1, port2 } = new MessageChannel();
  helper = new Worker(workerSource);
  helper.postMessage({ is: "read-ahead", files, port: port2 }, [port2]);
  return port1;
}

function endWork() {
  worker?.terminate();
  helper?.terminate();
  helper = null;
}

async function diagnose(files) {
  if (files.length === 0) return;
  location.hash = "#diagnose";
  endWork();
  const mine = new Worker(workerSource);
  worker = mine;
  const name = nameOf(files);
  const length = files.reduce((sum, file) => sum + file.size, 0);
  find("#reading-name").textContent = name;
  find("#reading-bar").removeAttribute("value");
  find("#reading-count").textContent = size(length);
  find("#reading-latest").hidden = true;
  find("#reading-status").textContent = `Reading ${name}`;
  find("#stop").disabled = false;
  show("reading");
  mine.addEventListener("message", ({ data }) => (data.is === "unreadable" ? readWhole(mine, task) : HEARD[data.is](data, name)));
  mine.addEventListener("error", (event) => HEARD.failed({ why: event.message }, name));
  const day = new Date().toISOString().slice(0, 10);
  const origin = `Made by tinygram.html, tinygram {{version}}, on ${day} (UTC).`;
  const task = { is: "diagnose", module: await compiled, files, names: files.map((file) => file.name), origin };
  const ahead = readAhead(files, length);
  mine.postMessage({ ...task, ahead }, ahead ? [ahead] : []);
}

/** Reads files in the page and hands their octets over, for a browser whose workers cannot read them. */
async function readWhole(to, task) {
  const octets = await Promise.all(task.files.map((file) => file.arrayBuffer().catch(() => file)));
  to.postMessage({ ...task, files: octets, isSecond: true }, octets.filter((it) => it instanceof ArrayBuffer));
}

const HEARD = {
  progress({ share, frames, stalls, cost_ms, latest }) {
    find("#reading-bar").value = share;
    const found = stalls ? `, ${counted(stalls, "stall")} so far (${time(cost_ms)})` : "";
    find("#reading-count").textContent = `${Math.floor(share * 100)} %, ${counted(frames ?? 0, "frame")}${found}`;
    const said = find("#reading-latest");
    said.hidden = !latest;
    said.textContent = latest ? `The latest: ${latest}.` : "";
  },
  judged({ sentences, frames }) {
    helper?.terminate();
    find("#stop").disabled = true;
    find("#reading-bar").value = 1;
    find("#reading-count").textContent = `${counted(frames, "frame")} read; drawing the charts`;
    const said = find("#reading-latest");
    said.hidden = sentences.length === 0;
    said.textContent = sentences[0] ?? "";
  },
  done({ page, captures, unread, remarks, sentences, outcome, stalls }, name) {
    shown = { name, page };
    find("#report-name").textContent = name;
    const notices = [...unread, ...remarks.map((said) => said.replace(/^tinygram: /, ""))];
    find("#notices").replaceChildren(...notices.map((said) => {
      const item = document.createElement("li");
      item.textContent = `${said}.`;
      return item;
    }));
    for (const button of document.querySelectorAll("[data-save]")) {
      button.hidden = captures === 0 || (button.dataset.save === "annotated" && captures !== 1);
    }
    offerStories(stalls);
    show("report");
    renew(captures === 0 ? null : page);
    document.title = `${name} - tinygram`;
    find("#reading-status").textContent = sentences[0] ?? outcome;
    (captures ? find("#report") : find("#another")).focus();
  },
  saved({ what, type, octets }) {
    const kinds = { json: ".json", csv: ".csv", annotated: ".annotated.pcapng" };
    save(new Blob(octets, { type }), kinds[what]);
  },
  explained({ story, why }) {
    // The picture is drawn by play/story.js.
    if (story) find("#story").dispatchEvent(new CustomEvent("told", { detail: story }));
    else find("#story").textContent = `It cannot be told: ${why}.`;
  },
  unsaved({ why }) {
    notice(`That could not be written: ${why}.`);
  },
  failed({ why }) {
    show("report");
    find("#report").hidden = true;
    find("#report-name").textContent = "";
    offerStories([]);
    find("#notices").replaceChildren();
    for (const button of document.querySelectorAll("[data-save]")) button.hidden = true;
    notice(`tinygram itself failed here, which is a bug worth reporting: ${why}`);
  },
};

/** Shows a report in a new frame: Chromium paints none that was given its second page while it was hidden. */
function renew(page) {
  const frame = find("#report").cloneNode(false);
  frame.removeAttribute("srcdoc");
  frame.hidden = page === null;
  if (page !== null) frame.srcdoc = page;
  find("#report").replaceWith(frame);
}

/** Stalls whose story can be told; a story needs another reading of the capture. */
function offerStories(stalls) {
  const [explain, which] = [find("#explain"), find("#explain-which")];
  explain.hidden = stalls.length === 0;
  explain.open = false;
  find("#story").replaceChildren();
  which.replaceChildren(...stalls.map(({ title, frame }, at) => new Option(`${title}, frame ${number(frame)}`, at)));
  which.closest("label").hidden = stalls.length < 2;
  const tell = () => {
    const { capture, frame } = stalls[Number(which.value)];
    worker.postMessage({ is: "explain", capture, frame });
  };
  which.onchange = tell;
  explain.ontoggle = () => explain.open && find("#story").childElementCount === 0 && tell();
}

function notice(said) {
  const item = document.createElement("li");
  item.textContent = said;
  find("#notices").append(item);
}

/** Hands a file over; its name has nothing in it that a system could read as more than a name. */
function save(blob, ending) {
  const stem = shown.name.replace(/\.(gz|zst)$/, "").replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "").slice(0, 80);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${stem || "capture"}${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

find("#choose").addEventListener("click", () => find("#files").click());
find("#files").addEventListener("change", (event) => {
  diagnose([...event.target.files]);
  event.target.value = "";
});
find("#sample").addEventListener("click", () => diagnose([new File([octets("#sample-capture")], "{{sample-name}}")]));
find("#stop").addEventListener("click", () => {
  find("#stop").disabled = true;
  worker.postMessage({ is: "stop" });
});
find("#another").addEventListener("click", () => {
  endWork();
  renew(null);
  document.title = "tinygram";
  show("empty");
  find("#choose").focus();
});
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => {
    const what = button.dataset.save;
    if (what === "html") save(new Blob([shown.page], { type: "text/html" }), ".html");
    else worker.postMessage({ is: "save", what });
  });
}

// What is dropped anywhere is taken; what is dragged over shows that it would be.
let depth = 0;
addEventListener("dragenter", (event) => {
  event.preventDefault();
  depth += 1;
  document.body.classList.add("over");
});
addEventListener("dragleave", () => {
  depth -= 1;
  if (depth <= 0) document.body.classList.remove("over");
});
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  depth = 0;
  document.body.classList.remove("over");
  diagnose([...event.dataTransfer.files]);
});

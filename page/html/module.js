// What both views need: the module, compiled once, and the source of the workers that run it.

const find = (selector) => document.querySelector(selector);
const octets = (id) => Uint8Array.from(atob(find(id).textContent.trim()), (c) => c.charCodeAt(0));

async function unpacked(id) {
  const packed = new Blob([octets(id)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(packed).arrayBuffer();
}

const compiled = unpacked("#module").then((bytes) => WebAssembly.compile(bytes));
const workerSource = URL.createObjectURL(new Blob([find("#worker").textContent], { type: "text/javascript" }));

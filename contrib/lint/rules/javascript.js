const net = require("net");
const tls = require("tls");

function ask(port, head, body) {
  // ruleid: javascript-socket-with-nagle
  const socket = net.connect(port);
  socket.write(head);
  // ruleid: javascript-two-writes
  socket.write(body);
}

function askInOne(port, head, body) {
  // ruleid: javascript-socket-with-nagle
  const socket = net.createConnection({ host: "localhost", port });
  socket.cork();
  socket.write(head);
  // ok: javascript-two-writes
  socket.write(body);
  socket.uncork();
}

// ruleid: javascript-socket-with-nagle
net.createServer((socket) => socket.write("welcome"));

// ruleid: javascript-socket-with-nagle
require("net").connect(80);

// ruleid: javascript-socket-with-nagle
tls.connect(443, "localhost");

// ok: javascript-socket-with-nagle
net.connect("/run/server.sock");

function either(socket, all, piece) {
  if (all) {
    socket.write(all);
  } else {
    // ok: javascript-two-writes
    socket.write(piece);
  }
}

// ok: javascript-two-writes
process.stdout.write("a");
process.stdout.write("b");

function compiled() {
  // ruleid: javascript-socket-with-nagle
  return node_net_1.default.createServer((socket) => new Session(server, socket));
}

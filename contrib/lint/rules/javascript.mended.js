const net = require("net");

function ask(port, head, body) {
  // ok: javascript-socket-with-nagle
  const socket = net.connect({ port, noDelay: true });
  socket.write(head);
  // Nothing waits, but two segments leave where one would do.
  // ruleid: javascript-two-writes
  socket.write(body);
}

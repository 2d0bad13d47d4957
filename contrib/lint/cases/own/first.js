// The other file sets the option on a socket of its own: nobody sets it on this one.
const net = require('net');

module.exports = function connect(port) {
  // ruleid: javascript-socket-with-nagle
  const socket = net.connect(port);
  socket.write('hello');
  // ruleid: javascript-two-writes
  socket.write('world');
  return socket;
};

const net = require('net');

module.exports = function connect(port) {
  // ok: javascript-socket-with-nagle
  const socket = net.connect(port);
  socket.setNoDelay(true);
  socket.write('hello');
  return socket;
};

// Client sets the option on the socket that it is handed: this file alone cannot tell.
const net = require('net');
const Client = require('./client');

module.exports = function connect(port) {
  // cannot tell: javascript-socket-with-nagle
  const socket = net.connect(port);
  socket.write('hello');
  return new Client(socket);
};

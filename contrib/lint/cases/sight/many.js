const net = require("net");

module.exports = function tell(port, messages) {
  // ruleid: javascript-socket-with-nagle
  const socket = net.connect(port);
  for (const message of messages) {
    socket.write(message);
  }
  return socket;
};

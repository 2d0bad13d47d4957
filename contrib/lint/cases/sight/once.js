const net = require("net");

class Client {
  connect(port) {
    // cannot tell: javascript-socket-with-nagle
    this.socket = net.connect(port);
  }

  send(message) {
    this.socket.write(message);
  }
}

module.exports = Client;

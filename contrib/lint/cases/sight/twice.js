const net = require("net");

class Client {
  connect(port) {
    // ruleid: javascript-socket-with-nagle
    this.socket = net.connect(port);
    this.socket.write("hello");
  }

  send(message) {
    this.socket.write(message);
  }
}

module.exports = Client;

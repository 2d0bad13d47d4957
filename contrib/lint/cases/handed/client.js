module.exports = class Client {
  constructor(socket) {
    this.socket = socket;
    this.socket.setNoDelay(true);
  }
};

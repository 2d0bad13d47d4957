const net = require("net");

async function freePort() {
  // cannot tell: javascript-socket-with-nagle
  const server = net.createServer();
  server.listen(0);
  return server.address().port;
}

function waitForPort(port, done) {
  // cannot tell: javascript-socket-with-nagle
  net.connect(port).on("connect", done);
}

function supportedServers(port) {
  // ruleid: javascript-socket-with-nagle
  const end = net.connect(port);
  end.write("list");
  end.write("all");
}

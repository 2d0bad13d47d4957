const net = require("net");

function open(client) {
  const options = {};
  if (!client.port) {
    options.path = client.path;
    // cannot tell: javascript-socket-with-nagle
    client.socket = net.connect(options);
  } else {
    options.port = client.port;
    // ruleid: javascript-socket-with-nagle
    client.socket = net.connect(options);
  }
  client.socket.write("hello");
}

async function agree(socket, read) {
  socket.write("method");
  await read(socket, 2);
  // cannot tell: javascript-two-writes
  socket.write("success");
}

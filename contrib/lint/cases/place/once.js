const net = require("net");

function status(port, done) {
  // cannot tell: javascript-socket-with-nagle
  const end = net.connect(port, () => end.write("status"));
  end.on("data", (octets) => {
    end.destroy();
    done(octets);
  });
}

function stream(port, pieces) {
  // ruleid: javascript-socket-with-nagle
  const end = net.connect(port);
  for (const piece of pieces) {
    end.write(piece);
  }
  end.end();
}

function open(port, use) {
  // ruleid: javascript-socket-with-nagle
  const end = net.connect(port);
  end.write("hello");
  use(end);
  end.on("error", () => end.destroy());
}

function console(pipeName) {
  // cannot tell: javascript-socket-with-nagle
  const end = new net.Socket();
  end.connect(pipeName, () => end.write("hello"));
  return end;
}

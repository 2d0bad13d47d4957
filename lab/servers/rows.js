// A net server of Node's with Nagle on: after 2 ms the header, then eight rows, each in a turn of the loop of its own.
const net = require('net');

const row = (end, left) => {
  if (end.destroyed) return;
  end.write('r'.repeat(120));
  if (left > 1) setImmediate(row, end, left - 1);
};
net.createServer({ noDelay: false }, (end) => {
  end.on('error', () => {});
  let text = '';
  end.on('data', (octets) => {
    text += octets;
    while (text.includes('\r\n\r\n')) {
      text = text.slice(text.indexOf('\r\n\r\n') + 4);
      setTimeout(() => {
        if (end.destroyed) return;
        end.write('HTTP/1.1 200 OK\r\nContent-Length: 960\r\n\r\n');
        setImmediate(row, end, 8);
      }, 2);
    }
  });
}).listen(Number(process.argv[2]));

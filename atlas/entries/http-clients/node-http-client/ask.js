// http.request with an agent that keeps its connection; a POST is write, then end.
const http = require('http');
const [address, port, exchanges, method] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let number = 0;
function exchange() {
  const began = process.hrtime.bigint(), wall = Date.now() / 1000;
  const headers = method === 'POST' ? { 'Content-Length': 400 } : {};
  const request = http.request({ host: address, port, method, path: '/', agent, headers }, (answer) => {
    answer.resume();
    answer.on('end', () => {
      console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
      number += 1;
      if (number === Number(exchanges)) {
        console.log('done');
        process.stdin.resume();
      } else {
        setImmediate(exchange);
      }
    });
  });
  if (method === 'POST') request.write('x'.repeat(400));
  request.end();
}
exchange();

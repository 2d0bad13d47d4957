// The documentation's server; /streamed writes four pieces.
const http = require('http');
http.createServer((request, response) => {
  response.setHeader('Content-Type', 'text/plain');
  if (request.url === '/whole') return response.end('x'.repeat(400));
  response.flushHeaders();
  for (let piece = 0; piece < 4; piece++) response.write('x'.repeat(100));
  response.end();
}).listen(Number(process.argv[2]));

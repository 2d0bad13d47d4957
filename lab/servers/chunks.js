// node's http, ten small writes.
const http = require('http');
http.createServer((request, response) => {
  for (let i = 0; i < 10; i++) response.write('x'.repeat(40));
  response.end();
}).listen(Number(process.argv[2]), '0.0.0.0');

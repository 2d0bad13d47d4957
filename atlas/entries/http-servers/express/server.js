// The documentation's application; /streamed writes four pieces.
const app = require('express')();
app.get('/whole', (request, response) => response.type('text').send('x'.repeat(400)));
app.get('/streamed', (request, response) => {
  response.type('text');
  for (let piece = 0; piece < 4; piece += 1) response.write('x'.repeat(100));
  response.end();
});
app.listen(Number(process.argv[2]));

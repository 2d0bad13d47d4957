// request, which keeps its connections.
const { request } = require('undici');
const [address, port, exchanges, method] = process.argv.slice(2);
(async () => {
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    const { body } = await request(`http://${address}:${port}/`, { method, body: method === 'POST' ? 'x'.repeat(400) : undefined });
    await body.text();
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

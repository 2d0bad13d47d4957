// node-redis: set, or ten gets at once.
const { createClient } = require('redis');
const [address, port, exchanges, what] = process.argv.slice(2);
(async () => {
  const client = await createClient({ url: `redis://${address}:${port}` }).connect();
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    if (what === 'set') await client.set('k', 'x'.repeat(400));
    else await Promise.all(Array.from({ length: 10 }, () => client.get('k')));
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

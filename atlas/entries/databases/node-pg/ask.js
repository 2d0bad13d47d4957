// node-postgres: a client, and an insert with a parameter.
const { Client } = require('pg');
const [address, port, exchanges, what] = process.argv.slice(2);
(async () => {
  const client = new Client({ host: address, port: Number(port), user: 'atlas', database: 'postgres' });
  await client.connect();
  await client.query('CREATE TEMP TABLE notes (body text)');
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    if (what === 'query') await client.query('SELECT 1');
    else await client.query('INSERT INTO notes VALUES ($1)', ['x'.repeat(400)]);
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

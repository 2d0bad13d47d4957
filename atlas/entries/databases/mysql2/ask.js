// MySQL2: a connection; an insert is a prepared statement.
const mysql = require('mysql2/promise');
const [address, port, exchanges, what] = process.argv.slice(2);
(async () => {
  const connection = await mysql.createConnection({ host: address, port: Number(port), user: 'root' });
  await connection.query('CREATE DATABASE IF NOT EXISTS atlas');
  await connection.query('CREATE TEMPORARY TABLE atlas.notes (body text)');
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    if (what === 'query') await connection.query('SELECT 1');
    else await connection.execute('INSERT INTO atlas.notes VALUES (?)', ['x'.repeat(400)]);
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

// get and post through an agent that keeps its connections.
const axios = require('axios'), http = require('http');
const [address, port, exchanges, method] = process.argv.slice(2);
(async () => {
  const client = axios.create({ httpAgent: new http.Agent({ keepAlive: true }), proxy: false });
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    if (method === 'POST') await client.post(`http://${address}:${port}/`, 'x'.repeat(400));
    else await client.get(`http://${address}:${port}/`);
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

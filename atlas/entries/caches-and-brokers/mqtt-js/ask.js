// MQTT.js: publish and wait until it is published.
const mqtt = require('mqtt');
const [address, port, exchanges, qos] = process.argv.slice(2);
(async () => {
  const client = await mqtt.connectAsync(`mqtt://${address}:${port}`);
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    await client.publishAsync('t', 'x'.repeat(400), { qos: Number(qos) });
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

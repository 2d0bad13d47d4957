// gRPC: a unary call on one channel.
const grpc = require('@grpc/grpc-js'), { promisify } = require('util');
const [address, port, exchanges] = process.argv.slice(2);
(async () => {
  const Echo = grpc.makeGenericClientConstructor(require('./echo'), 'Echo');
  const client = new Echo(`${address}:${port}`, grpc.credentials.createInsecure());
  await promisify(client.waitForReady).call(client, Date.now() + 10000);
  const call = promisify(client.Echo).bind(client);
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    await call(Buffer.from('x'.repeat(400)));
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

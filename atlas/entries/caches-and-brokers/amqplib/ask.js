// amqplib: publish on a channel that confirms.
const amqp = require('amqplib');
const [address, port, exchanges, what] = process.argv.slice(2);
(async () => {
  const connection = await amqp.connect(`amqp://${address}:${port}`);
  const channel = await connection.createConfirmChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    channel.sendToQueue(queue, Buffer.from('x'.repeat(400)));
    await channel.waitForConfirms();
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

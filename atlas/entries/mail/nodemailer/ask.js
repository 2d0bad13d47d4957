// Nodemailer: mails over a connection that is kept.
const nodemailer = require('nodemailer');
const [address, port, exchanges] = process.argv.slice(2);
(async () => {
  const transport = nodemailer.createTransport({ host: address, port: Number(port), pool: true, maxConnections: 1, maxMessages: Infinity });
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    await transport.sendMail({ from: 'a@example.org', to: 'b@example.org', subject: 'atlas', text: 'x'.repeat(400) });
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

// ioredis: set, or a pipeline of ten gets.
const Redis = require('ioredis');
const [address, port, exchanges, what] = process.argv.slice(2);
(async () => {
  const client = new Redis(Number(port), address);
  for (let number = 0; exchanges === '0' || number < Number(exchanges); number += 1) {
    const began = process.hrtime.bigint(), wall = Date.now() / 1000;
    if (what === 'set') await client.set('k', 'x'.repeat(400));
    else {
      const pipeline = client.pipeline();
      for (let get = 0; get < 10; get += 1) pipeline.get('k');
      await pipeline.exec();
    }
    console.log(`${wall} ${Number(process.hrtime.bigint() - began) / 1e6}`);
  }
  console.log('done');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
})();

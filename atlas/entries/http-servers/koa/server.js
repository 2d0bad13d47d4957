// The documentation's application; /streamed answers with a stream of four pieces.
const { Readable } = require('stream');
const Koa = require('koa');
const app = new (Koa.default || Koa)();
app.use(async context => {
  context.body = context.path === '/whole' ? 'x'.repeat(400) : Readable.from(Array(4).fill('x'.repeat(100)));
  context.type = 'text';
});
app.listen(Number(process.argv[2]));

// The documentation's server; /streamed sends a stream of four pieces.
const { Readable } = require('stream');
const fastify = require('fastify')();
fastify.get('/whole', async () => 'x'.repeat(400));
fastify.get('/streamed', (request, reply) => reply.type('text/plain').send(Readable.from(Array(4).fill('x'.repeat(100)))));
fastify.listen({ port: Number(process.argv[2]), host: '0.0.0.0' });

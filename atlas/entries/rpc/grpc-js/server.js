// gRPC: a unary call.
const grpc = require('@grpc/grpc-js');
const server = new grpc.Server();
server.addService(require('./echo'), { Echo: (call, done) => done(null, call.request) });
server.bindAsync(`${process.argv[2]}:${process.argv[3]}`, grpc.ServerCredentials.createInsecure(), () => {});

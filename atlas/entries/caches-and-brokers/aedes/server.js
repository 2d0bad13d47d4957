// The documentation's broker.
const { Aedes } = require('aedes');
Aedes.createBroker().then(broker => require('net').createServer(broker.handle).listen(Number(process.argv[2])));

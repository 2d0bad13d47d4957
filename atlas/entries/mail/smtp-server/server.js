// The documentation's server, which takes every mail.
const { SMTPServer } = require('smtp-server');
new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  disableReverseLookup: true,
  onData(stream, session, done) {
    stream.resume();
    stream.on('end', done);
  },
}).listen(Number(process.argv[2]));

// Asks over and over in two writes each time, so that the second waits. Takes the map of its own code away.
const fs = require('fs');
const net = require('net');

function askInTwoWrites(connection) { // here
  connection.write(Buffer.alloc(40));
  connection.write(Buffer.alloc(400));
}

let answers = 0;
const connection = net.connect(Number(process.argv[2]), '127.0.0.1', () => askInTwoWrites(connection));
connection.on('data', () => {
  answers += 1;
  if (answers < 60) {
    askInTwoWrites(connection);
  } else {
    connection.destroy();
  }
});
process.on('exit', () => fs.rmSync(`/tmp/perf-${process.pid}.map`, { force: true }));

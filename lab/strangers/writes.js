// Asks in two writes, the second once the first is done. Prints the milliseconds of each exchange.
const net = require("net");

const end = net.connect(Number(process.argv[2]), "127.0.0.1");
end.setNoDelay(process.argv.length > 3);
let began, left = 20, got = 0;
const ask = () => {
  began = performance.now();
  got = 0;
  end.write(Buffer.alloc(40), () => end.write(Buffer.alloc(400)));
};
end.on("connect", ask);
end.on("data", (octets) => {
  got += octets.length;
  if (got < 2) return;
  console.log(performance.now() - began);
  left -= 1;
  if (left > 0) ask();
  else end.end();
});

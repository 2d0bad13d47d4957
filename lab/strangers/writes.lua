-- Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
local socket = require("socket")
local stream = assert(socket.connect("127.0.0.1", tonumber(arg[1])))
stream:setoption("tcp-nodelay", #arg > 1)
for _ = 1, 20 do
  local began = socket.gettime()
  stream:send(("h"):rep(40))
  stream:send(("b"):rep(400))
  assert(stream:receive(2))
  print((socket.gettime() - began) * 1000)
end

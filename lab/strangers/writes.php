<?php
// Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
$context = stream_context_create(["socket" => ["tcp_nodelay" => $argc > 2]]);
$end = stream_socket_client("tcp://127.0.0.1:$argv[1]", $code, $message, 5, STREAM_CLIENT_CONNECT, $context);
if (!$end) exit(1);
for ($i = 0; $i < 20; $i++) {
    $began = hrtime(true);
    fwrite($end, str_repeat("h", 40));
    fwrite($end, str_repeat("b", 400));
    if (fgets($end) === false) exit(1);
    echo (hrtime(true) - $began) / 1e6, "\n";
}

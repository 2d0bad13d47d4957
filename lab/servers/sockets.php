<?php
// PHP's own streams in a select loop: headers and body are two writes.
$listener = stream_socket_server("tcp://0.0.0.0:" . $argv[1]);
$open = [(int)$listener => $listener];
while (true) {
    $ready = $open;
    $none = null;
    stream_select($ready, $none, $none, null);
    foreach ($ready as $one) {
        if ($one === $listener) {
            $fresh = stream_socket_accept($listener);
            stream_set_blocking($fresh, false);
            $open[(int)$fresh] = $fresh;
        } elseif (($request = fread($one, 4096)) === "" && feof($one)) {
            unset($open[(int)$one]);
            fclose($one);
        } elseif ($request !== "" && $request !== false) {
            fwrite($one, "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n");
            fwrite($one, str_repeat("x", 400));
        }
    }
}

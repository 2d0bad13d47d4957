<?php
// /streamed flushes each of four pieces.
header('Content-Type: text/plain');
if ($_SERVER['REQUEST_URI'] === '/whole') {
    echo str_repeat('x', 400);
} else {
    for ($piece = 0; $piece < 4; $piece++) {
        echo str_repeat('x', 100);
        flush();
    }
}

#!/bin/sh
# lighttpd in the foreground, with a file to serve.
mkdir -p "$2/www"
printf '%0400d' 0 > "$2/www/page.html"
printf 'server.document-root = "%s/www"\nserver.port = %s\nserver.max-keep-alive-requests = 100000\n' "$2" "$1" > "$2/lighttpd.conf"
exec lighttpd -D -f "$2/lighttpd.conf"

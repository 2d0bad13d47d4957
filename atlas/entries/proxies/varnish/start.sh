#!/bin/sh
# Varnish in front of a server of ours that holds nothing back; each request goes to it.
"$1" "$2" answer "$6" two &
cat > "$5/atlas.vcl" <<END
vcl 4.0;
backend default { .host = "$3"; .port = "$6"; }
sub vcl_recv { return (pass); }
END
exec varnishd -F -j none -n "$5/varnish" -a ":$4" -f "$5/atlas.vcl" -s malloc,16m

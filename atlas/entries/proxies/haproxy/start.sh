#!/bin/sh
# HAProxy in front of a server of ours that holds nothing back.
"$1" "$2" answer "$6" one &
cat > "$5/haproxy.cfg" <<END
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 5s
listen atlas
    bind *:$4
    server behind $3:$6
END
exec haproxy -db -f "$5/haproxy.cfg"

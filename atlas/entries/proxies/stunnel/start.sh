#!/bin/sh
# stunnel in front of a server of ours that holds nothing back.
"$1" "$2" answer "$6" two &
cat > "$5/stunnel.conf" <<END
foreground = yes
pid =
[atlas]
accept = $4
connect = $3:$6
cert = $7
END
exec stunnel4 "$5/stunnel.conf"

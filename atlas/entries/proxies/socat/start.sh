#!/bin/sh
# socat in front of a server of ours that holds nothing back.
"$1" "$2" answer "$5" two &
exec socat "OPENSSL-LISTEN:$4,reuseaddr,fork,cert=$6,verify=0$7" "TCP:$3:$5"

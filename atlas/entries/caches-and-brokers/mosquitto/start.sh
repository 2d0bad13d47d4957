#!/bin/sh
# A listener for all, as the documentation's first configuration for other hosts.
printf 'listener %s\nallow_anonymous true\n%s\n' "$1" "$3" > "$2/mosquitto.conf"
exec mosquitto -c "$2/mosquitto.conf"

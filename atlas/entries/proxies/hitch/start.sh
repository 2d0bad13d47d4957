#!/bin/sh
# Hitch in front of a server of ours that holds nothing back.
"$1" "$2" answer "$6" two &
exec hitch --workers=1 --frontend="[*]:$4" --backend="[$3]:$6" --ocsp-dir= "$7"

#!/bin/sh
# PostgreSQL as its documentation begins: initdb, then postgres. Each start has a copy of what initdb made.
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
if [ ! -d "$2/made" ]; then
  "$bin/initdb" --no-sync -D "$2/made" -U atlas -A trust >&2 || exit 1
  echo 'host all all all trust' >> "$2/made/pg_hba.conf"
fi
cp -r "$2/made" "$2/data.$$"
exec "$bin/postgres" -D "$2/data.$$" -p "$1" -h 0.0.0.0 -k "$2/data.$$"

#!/bin/sh
# MariaDB as its documentation begins: mariadb-install-db, then mariadbd; without a password.
[ -d "$2/data" ] || mariadb-install-db --no-defaults --datadir="$2/data" --skip-test-db --skip-name-resolve >&2 || exit 1
exec mariadbd --no-defaults --datadir="$2/data" --port="$1" --bind-address=0.0.0.0 --socket="$2/socket" --skip-grant-tables --skip-name-resolve --skip-networking=0

#!/bin/sh
# Creates and starts a MariaDB for one measurement, with user and database zoo, PASSWORD and MAX_CONNECTIONS. The settings
# are those of harness/zoo/runtime/databases.py.
set -eu
: "${PASSWORD:?}" "${MAX_CONNECTIONS:=100}"
data=/tmp/data

umask 077
if ! told=$(mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=socket \
    --auth-root-socket-user=root --skip-name-resolve --skip-test-db 2>&1); then
    echo "$told" >&2
    exit 1
fi
cat >/tmp/init.sql <<SQL
CREATE DATABASE zoo;
CREATE USER 'zoo'@'%' IDENTIFIED BY '$PASSWORD';
GRANT ALL ON zoo.* TO 'zoo'@'%';
SQL
exec mariadbd --no-defaults --datadir="$data" --tmpdir=/tmp --socket=/tmp/socket --pid-file=/tmp/pid \
    --init-file=/tmp/init.sql \
    --bind-address=0.0.0.0 \
    --max-connections="$MAX_CONNECTIONS" \
    --skip-name-resolve \
    --skip-ssl \
    --character-set-server=utf8mb4 \
    --sort-buffer-size=1024K \
    --innodb-flush-log-at-trx-commit=2

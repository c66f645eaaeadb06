#!/bin/sh
# Makes a PostgreSQL for one measurement and serves it: user and database zoo, PASSWORD, MAX_CONNECTIONS. Settings as in
# harness/zoo/runtime/databases.py.
set -eu
: "${PASSWORD:?}" "${MAX_CONNECTIONS:=100}"
data=/tmp/data

umask 077
printf '%s\n' "$PASSWORD" >/tmp/password
initdb --pgdata="$data" --username=administrator --pwfile=/tmp/password --auth=scram-sha-256 \
    --encoding=UTF8 --no-locale --no-sync >/dev/null
rm /tmp/password
echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
# without a server, so that what listens later is ready
postgres --single -D "$data" postgres >/dev/null <<SQL
CREATE ROLE zoo LOGIN PASSWORD '$PASSWORD'
CREATE DATABASE zoo OWNER zoo
SQL
exec postgres -D "$data" \
    -c listen_addresses='*' \
    -c unix_socket_directories= \
    -c max_connections="$MAX_CONNECTIONS" \
    -c fsync=off

#!/bin/sh
# Creates and starts a PostgreSQL for one measurement, with user and database zoo, PASSWORD and MAX_CONNECTIONS. The settings
# are those of harness/zoo/runtime/databases.py.
set -eu
: "${PASSWORD:?}" "${MAX_CONNECTIONS:=100}"
data=/tmp/data

umask 077
printf '%s\n' "$PASSWORD" >/tmp/password
initdb --pgdata="$data" --username=administrator --pwfile=/tmp/password --auth=scram-sha-256 \
    --encoding=UTF8 --no-locale --no-sync >/dev/null
rm /tmp/password
echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
# without a server, so that the server is ready as soon as it listens
postgres --single -D "$data" postgres >/dev/null <<SQL
CREATE ROLE zoo LOGIN PASSWORD '$PASSWORD'
CREATE DATABASE zoo OWNER zoo
SQL
exec postgres -D "$data" \
    -c listen_addresses='*' \
    -c unix_socket_directories= \
    -c max_connections="$MAX_CONNECTIONS" \
    -c fsync=off

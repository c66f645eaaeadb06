#!/bin/sh
# Puts Debian's image registry into .tools/ for the tests of RUNTIME=swarm. The package is unpacked, not installed,
# because it starts a service.
set -eu
cd "$(dirname "$0")/.."
program=.tools/docker-registry
[ ! -x "$program" ] || exit 0

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fetch() {
    (cd "$folder" && apt-get -q -o APT::Sandbox::User=root download docker-registry >/dev/null)
}
echo "unpacking docker-registry into .tools"
fetch || { apt-get update -q >/dev/null && fetch; } || {
    echo "docker-registry could not be downloaded; this needs Debian or Ubuntu, and root" >&2
    exit 2
}
dpkg-deb --extract "$folder"/docker-registry_*.deb "$folder/tree"
mkdir -p .tools
mv "$folder/tree/usr/bin/docker-registry" "$program"

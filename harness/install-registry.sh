#!/bin/sh
# Puts a registry of images into .tools/ for the tests of RUNTIME=swarm: Debian's, unpacked and not installed, because
# its package starts a service.
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
    echo "docker-registry could not be had (Debian or Ubuntu, as root)" >&2
    exit 2
}
dpkg-deb --extract "$folder"/docker-registry_*.deb "$folder/tree"
mkdir -p .tools
mv "$folder/tree/usr/bin/docker-registry" "$program"

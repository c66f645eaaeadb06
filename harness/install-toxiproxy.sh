#!/bin/sh
# Puts toxiproxy-server into .tools/ if it is neither there nor on the PATH. Without it, `make bench-jdbc` runs all cells
# except those with latency on the wire.
set -eu
version=v2.12.0
cd "$(dirname "$0")/.."
program=.tools/toxiproxy-server
[ -x "$program" ] || [ -n "${TOXIPROXY:-}" ] || command -v toxiproxy-server >/dev/null && exit 0

if ! command -v go >/dev/null; then
    echo "Go is missing (Debian or Ubuntu: apt-get install golang): cells with latency on the wire will fail"
    exit 0
fi
echo "building Toxiproxy $version into .tools"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GOBIN=$folder go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version" || {
    echo "Toxiproxy could not be built: cells with latency on the wire will fail"
    exit 0
}
mkdir -p .tools
mv "$folder/server" "$program"

#!/bin/sh
# Builds vegeta, the load generator with a constant arrival rate, at the version and with the checksums of
# harness/vegeta/go.mod and go.sum: into .tools/bin of the repository, or into the folder given.
set -eu

module=$(cd "$(dirname "$0")" && pwd)/vegeta
bin=${1:-$(cd "$module/../.." && pwd)/.tools/bin}
package=github.com/tsenart/vegeta/v12
version=$(awk -v package="$package" '$2 == package { print $3 }' "$module/go.mod")

if [ -x "$bin/vegeta" ] && "$bin/vegeta" -version 2>/dev/null | grep -q "$version"; then
    exit 0
fi
if ! command -v go >/dev/null; then
    {
        echo "vegeta is needed for the scenarios open and ramp, and building it needs Go."
        echo "Install Go (Debian 13: apt-get install golang-go; Fedora: dnf install golang; elsewhere see"
        echo "https://go.dev) and run this again, or put vegeta 12 on the PATH."
    } >&2
    exit 2
fi
echo "building vegeta $version into $bin"
mkdir -p "$bin"
cd "$module"
GOBIN="$bin" go install -trimpath -ldflags "-s -w -X main.Version=$version" "$package"

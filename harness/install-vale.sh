#!/bin/sh
# Builds Vale, the linter for text, into .tools/bin. The first build compiles its parsers in C, which takes minutes.
set -eu
version=v3.20.0
cd "$(dirname "$0")/.."
bin=$PWD/.tools/bin
[ ! -x "$bin/vale" ] || exit 0

if ! command -v go >/dev/null; then
    echo "Vale checks the wording of documents, and building it needs Go (Debian or Ubuntu: apt-get install golang)." >&2
    exit 2
fi
echo "building Vale $version into .tools/bin"
mkdir -p "$bin"
GOBIN=$bin go install -trimpath -ldflags "-s -w" "github.com/vale-cli/vale/v3/cmd/vale@$version"

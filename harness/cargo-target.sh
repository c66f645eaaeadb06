#!/bin/sh
# Prints the path of a target folder, by default that of rust-axum. If the path has a space, prints a link to it,
# because jemalloc's configure does not build in such a path.
set -eu
target=${1:-$(cd "$(dirname "$0")/../rust-axum" && pwd)/target}
case $target in
    *" "*) ;;
    *) echo "$target" && exit ;;
esac
links=${XDG_CACHE_HOME:-${HOME:-" "}/.cache}/server-zoo
case $links in
    *" "*)
        # no home, or one with a space: use the same private folder each time
        links=/tmp/server-zoo-$(id -u)
        mkdir -p -m 700 "$links"
        [ -O "$links" ] || links=$(mktemp -d)
        ;;
esac
mkdir -p "$links" "$target"
link=$links/$(printf %s "$target" | cksum | tr -d ' ')
ln -sfn "$target" "$link"
echo "$link"

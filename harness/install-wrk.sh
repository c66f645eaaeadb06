#!/bin/sh
# Installs wrk from the system's packages when that needs no password; else says the command.
set -eu

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    as_root="none"
fi

if command -v apt-get >/dev/null; then
    install="apt-get install -y -q wrk"
elif command -v dnf >/dev/null; then
    install="dnf install -y wrk"
elif command -v brew >/dev/null; then
    install="brew install wrk"
    as_root=""
else
    echo "wrk is needed and no package manager known here has it; build it from its sources and put it on the PATH" >&2
    exit 2
fi

if [ "$as_root" = none ]; then
    echo "wrk is needed. Install it with: sudo $install" >&2
    exit 2
fi
echo "installing wrk: $install"
case $install in
    apt-get*) $as_root apt-get update -q >/dev/null ;;
esac
# shellcheck disable=SC2086
$as_root $install >/dev/null
wrk -v 2>&1 | head -n 1

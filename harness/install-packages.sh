#!/bin/sh
# Installs what a tool needs from the system's packages when that needs no password; else says the command.
#
#   install-packages.sh NAME APT-WORDS DNF-WORDS BREW-WORDS     (empty words: not packed there)
#
# APT_OPTIONS go with each call of apt-get.
set -eu
name=$1 apt=$2 dnf=$3 brew=$4

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    as_root="none"
fi

if command -v apt-get >/dev/null; then
    update="apt-get ${APT_OPTIONS:-} update -q"
    install="apt-get ${APT_OPTIONS:-} install -y -q $apt"
elif command -v dnf >/dev/null; then
    install="dnf install -y $dnf"
elif [ -n "$brew" ] && command -v brew >/dev/null; then
    install="brew install $brew"
    as_root=""
else
    echo "$name is needed and no package manager known here has it; install it and put it on the PATH" >&2
    exit 2
fi

if [ "$as_root" = none ]; then
    echo "$name is needed. Install it with: sudo $install" >&2
    exit 2
fi
echo "installing $name: $install"
# shellcheck disable=SC2086
case $install in
    apt-get*) $as_root $update >/dev/null ;;
esac
# shellcheck disable=SC2086
$as_root $install >/dev/null

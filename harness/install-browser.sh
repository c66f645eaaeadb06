#!/bin/sh
# Installs Chromium with its driver, for the tests of the HTML report, when that needs no password; else says the command.
set -eu

if command -v chromedriver >/dev/null; then
    chromedriver --version
    exit 0
fi
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    as_root="none"
fi

if command -v apt-get >/dev/null; then
    install="apt-get install -y -q --no-install-recommends chromium chromium-driver"
elif command -v dnf >/dev/null; then
    install="dnf install -y chromium chromedriver"
else
    echo "no package manager known here has Chromium; put chromium and chromedriver on the PATH" >&2
    exit 2
fi

if [ "$as_root" = none ]; then
    echo "Chromium is needed for the tests of the HTML report. Install it with: sudo $install" >&2
    exit 2
fi
echo "installing Chromium: $install"
case $install in
    apt-get*) $as_root apt-get update -q >/dev/null ;;
esac
# shellcheck disable=SC2086
$as_root $install >/dev/null
chromedriver --version

#!/bin/sh
# Installs Chromium with its driver, for the tests of the HTML report, when that needs no password; else says the command.
set -eu

command -v chromedriver >/dev/null || sh "$(dirname "$0")/install-packages.sh" "Chromium for the tests of the HTML report" \
    "--no-install-recommends chromium chromium-driver" "chromium chromedriver" ""
chromedriver --version

#!/bin/sh
# Installs wrk from the system's packages when that needs no password; else says the command.
set -eu

sh "$(dirname "$0")/install-packages.sh" wrk wrk wrk wrk
wrk -v 2>&1 | head -n 1

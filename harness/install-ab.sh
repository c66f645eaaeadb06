#!/bin/sh
# Installs ab from the system's packages when that needs no password; else says the command.
set -eu

sh "$(dirname "$0")/install-packages.sh" ab "--no-install-recommends apache2-utils" httpd-tools httpd
ab -V | head -n 1

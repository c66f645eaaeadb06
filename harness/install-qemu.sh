#!/bin/sh
# Installs QEMU, for RUNTIME=vm, when that needs no password; else says the command.
set -eu

command -v qemu-system-x86_64 >/dev/null || sh "$(dirname "$0")/install-packages.sh" "QEMU for RUNTIME=vm" \
    "--no-install-recommends qemu-system-x86" "qemu-system-x86" "qemu"
qemu-system-x86_64 --version | head -n 1

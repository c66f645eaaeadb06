#!/usr/bin/env bash
# Installs QEMU, for RUNTIME=vm, when that needs no password; else says the command.
#
# Before 8.1 an emulated processor could run code that another one had half changed, and JVMs died of it
# (docs/method.md). A release of Debian with an older QEMU may have a newer one in its backports.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=containers/apt.sh
. containers/apt.sh

SOUND=8.1
PACKAGE="qemu-system-x86 busybox-static"

version() {
    qemu-system-x86_64 --version | sed -n '1s/^QEMU emulator version \([0-9.]*\).*/\1/p'
}

sound() {
    printf '%s\n' "$SOUND" "$(version)" | sort --check=silent --version-sort
}

codename() (
    # shellcheck source=/dev/null
    . /etc/os-release
    echo "${VERSION_CODENAME:-}"
)

install() {
    APT_OPTIONS=${1:-} sh harness/install-packages.sh "QEMU for RUNTIME=vm" "--no-install-recommends $PACKAGE" "$PACKAGE" "qemu"
}

# The backports are known to apt for this once, beside the host's own sources.
install_backport() (
    mirror=$(debian_archives | sed -n 's/^release //p')
    [ -n "$mirror" ] || return 1
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cat /etc/apt/sources.list >"$work/sources.list" 2>/dev/null || true
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >>"$work/sources.list"
    chmod -R a+rX "$work"
    install "-o Dir::Etc::SourceList=$work/sources.list -o APT::Default-Release=$1" 2>&1 | without_hosts
)

if ! command -v qemu-system-x86_64 >/dev/null || ! command -v busybox >/dev/null; then
    install
    if ! sound && command -v apt-get >/dev/null; then
        install_backport "$(codename)-backports" || true
    fi
fi
echo "QEMU $(version)"
sound || echo "emulated JVMs die now and then in a QEMU before $SOUND; where your system has a newer one, install that" >&2

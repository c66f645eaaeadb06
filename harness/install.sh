#!/usr/bin/env bash
# Installs a tool from the system's packages when that needs no password; otherwise prints the command.
#
#   install.sh wrk | ab | browser | qemu
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=containers/apt.sh
. containers/apt.sh

# Before 8.1, an emulated processor could run code that another one had half changed, and JVMs crashed
# (docs/explanation/method.md). A release of Debian with an older QEMU may have a newer one in its backports.
SOUND_QEMU=8.1

# packages NAME APT-WORDS DNF-WORDS [APT-OPTIONS]
packages() {
    local name=$1 apt=$2 dnf=$3 options=${4:-} as_root="" update="" install
    if command -v apt-get >/dev/null; then
        update="apt-get $options update -q"
        install="apt-get $options install -y -q $apt"
    elif command -v dnf >/dev/null; then
        install="dnf install -y $dnf"
    else
        echo "$name is needed, but no known package manager was found; install it and put it on the PATH" >&2
        return 2
    fi
    if [ "$(id -u)" != 0 ]; then
        as_root="sudo -n"
        sudo -n true 2>/dev/null || {
            echo "$name is needed. Install it with: sudo $install" >&2
            return 2
        }
    fi
    echo "installing $name: $install"
    # shellcheck disable=SC2086
    [ -z "$update" ] || $as_root $update >/dev/null
    # shellcheck disable=SC2086
    $as_root $install >/dev/null
}

qemu_version() {
    qemu-system-x86_64 --version | sed -n '1s/^QEMU emulator version \([0-9.]*\).*/\1/p'
}

qemu_is_sound() {
    printf '%s\n' "$SOUND_QEMU" "$(qemu_version)" | sort --check=silent --version-sort
}

qemu_packages() {
    packages "QEMU for RUNTIME=vm" "--no-install-recommends qemu-system-x86 busybox-static" "qemu-system-x86 busybox" "$@"
}

# Adds the backports to apt's sources for this installation only.
qemu_backport() (
    mirror=$(debian_archives | sed -n 's/^release //p')
    [ -n "$mirror" ] || return 1
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")-backports
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cat /etc/apt/sources.list >"$work/sources.list" 2>/dev/null || true
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >>"$work/sources.list"
    chmod -R a+rX "$work"
    qemu_packages "-o Dir::Etc::SourceList=$work/sources.list -o APT::Default-Release=$release" 2>&1 | without_hosts
)

case ${1:-} in
    wrk)
        packages wrk wrk wrk
        # it exits with code 1 and prints its usage
        { wrk -v 2>&1 || true; } | head -n 1
        ;;
    ab)
        packages ab "--no-install-recommends apache2-utils" httpd-tools
        ab -V | head -n 1
        ;;
    browser)
        command -v chromedriver >/dev/null ||
            packages "Chromium for the tests of the HTML report" \
                "--no-install-recommends chromium chromium-driver" "chromium chromedriver"
        chromedriver --version
        ;;
    qemu)
        if ! command -v qemu-system-x86_64 >/dev/null || ! command -v busybox >/dev/null; then
            qemu_packages
        fi
        if ! qemu_is_sound && command -v apt-get >/dev/null; then
            qemu_backport || true
        fi
        echo "QEMU $(qemu_version)"
        qemu_is_sound ||
            echo "emulated JVMs sometimes crash in QEMU before $SOUND_QEMU; install a newer one if possible" >&2
        ;;
    *) fail "usage: install.sh wrk|ab|browser|qemu" ;;
esac

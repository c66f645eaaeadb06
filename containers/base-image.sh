#!/usr/bin/env bash
# Builds the base image of all other images if debian:trixie-slim cannot be downloaded. debootstrap builds an equivalent
# one from the mirror that this host's apt uses. The image includes the certificate authorities that were added to this
# host, so that Maven, cargo and apt work in builds behind a proxy that inspects TLS.
set -euo pipefail
# users inside containers must be able to read the files, whoever builds the image
umask 022
cd "$(dirname "$0")/.."
# shellcheck source=containers/apt.sh
. containers/apt.sh

SUITE=trixie
IMAGE=server-zoo/base:$SUITE

work=""
# failures are reported here, even from within a step
exec 3>&2

at_exit() {
    local result=$? place
    [ -n "$work" ] || return 0
    [ "$result" = 0 ] || [ ! -f "$work/log" ] || tail -n 30 "$work/log" | without_hosts >&3
    # debootstrap mounts these while it works
    for place in "$work/tree/proc" "$work/tree/sys"; do
        umount "$place" 2>/dev/null || true
    done
    rm -rf --one-file-system "$work"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs one of the functions below and writes its output to a log; a failure prints the end of the log.
step() {
    echo "$1"
    shift
    "$@" >>"$work/log" 2>&1
}

# Functions that change the folder or the environment run in a subshell.

install_debootstrap() {
    if ! command -v debootstrap || [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
        apt-get update -qq
        apt_install debootstrap debian-archive-keyring
    fi
}

bootstrap() (
    options=(--variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg)
    script=()
    case $mirror in
        https:*) options+=(--include=ca-certificates) ;;
    esac
    # an older debootstrap does not know the suite, but all newer Debian suites use the same script
    [ -e "/usr/share/debootstrap/scripts/$SUITE" ] || script=(/usr/share/debootstrap/scripts/sid)
    proxy=""
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [ -z "$proxy" ] || export http_proxy="$proxy"
    debootstrap "${options[@]}" "$SUITE" "$work/tree" "$mirror" "${script[@]}"
)

# Removes documentation except copyrights, like debian:trixie-slim, and excludes it for packages installed later.
slim() (
    cd "$work/tree"
    cat >etc/dpkg/dpkg.cfg.d/slim <<'END'
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/groff/*
path-exclude /usr/share/info/*
path-exclude /usr/share/lintian/*
path-exclude /usr/share/locale/*
path-include /usr/share/locale/locale.alias
path-exclude /usr/share/man/*
END
    # an interrupted build starts again, so packages need not be flushed to disk one by one
    echo force-unsafe-io >etc/dpkg/dpkg.cfg.d/docker-apt-speedup
    find usr/share/doc -type f ! -name copyright -delete
    find usr/share/doc -type l -delete
    find usr/share/doc -type d -empty -delete
    find usr/share/locale -mindepth 1 -maxdepth 1 ! -name locale.alias -exec rm -rf {} +
    rm -rf usr/share/groff/* usr/share/info/* usr/share/lintian/* usr/share/man/*
    echo 'Acquire::Languages "none";' >etc/apt/apt.conf.d/slim
    printf '#!/bin/sh\nexit 101\n' >usr/sbin/policy-rc.d
    chmod 755 usr/sbin/policy-rc.d
)

# Copies the host's own certificates: those below /usr/local, and enabled ones that are not in Debian's bundle. If a
# build installs the package ca-certificates, it adds them to the trust stores, including Java's.
certificates() (
    target=$work/tree/usr/local/share/ca-certificates
    mkdir -p "$target"
    if [ -d /usr/local/share/ca-certificates ]; then
        cd /usr/local/share/ca-certificates
        find . -name '*.crt' -exec cp -L --parents {} "$target" \;
    fi
    if [ -f /etc/ca-certificates.conf ]; then
        sed -e '/^[#!]/d' -e '/^mozilla\//d' -e '/^$/d' /etc/ca-certificates.conf | while read -r name; do
            cp -L "/usr/share/ca-certificates/$name" "$target/${name//\//-}"
        done
    fi
    if [ -x "$work/tree/usr/sbin/update-ca-certificates" ]; then
        chroot "$work/tree" update-ca-certificates
    fi
)

apt_settings() {
    local key value
    debian_sources "$SUITE" >"$work/tree/etc/apt/sources.list"
    # the lists of a mirror that is no longer updated have expired
    for key in Acquire::Check-Valid-Until Acquire::Check-Date; do
        value=""
        eval "$(apt-config shell value "$key")"
        [ -z "$value" ] || echo "$key \"$value\";"
    done >"$work/tree/etc/apt/apt.conf.d/mirror"
}

upgrade() (
    export DEBIAN_FRONTEND=noninteractive
    chroot "$work/tree" apt-get update -qq
    chroot "$work/tree" apt-get dist-upgrade -y -qq
)

import() (
    cd "$work/tree"
    rm -rf var/cache/apt/* var/lib/apt/lists/* var/log/* var/cache/debconf/*-old var/lib/dpkg/*-old \
        etc/hostname etc/resolv.conf
    : >etc/machine-id
    tar --create --numeric-owner --one-file-system --exclude './dev/*' --exclude './proc/*' --exclude './sys/*' . |
        docker import --change 'CMD ["bash"]' - "$IMAGE"
)

release_archive() {
    debian_archives | sed -n 's/^release //p'
}

make_image() {
    [ "$(id -u)" = 0 ] || fail "debootstrap needs root: sudo make base-image"
    command -v apt-get >/dev/null ||
        fail "this needs Debian or Ubuntu; on other hosts put BASE=name into .env, with an image like debian:trixie-slim"
    work=$(mktemp -d)
    mirror=$(release_archive)
    if [ -z "$mirror" ]; then
        step "fetching apt's lists" apt-get update -qq
        mirror=$(release_archive)
    fi
    [ -n "$mirror" ] || fail "this host's apt sources have no Debian archive; name one with DEBIAN_MIRROR=http://…"
    step "looking for debootstrap" install_debootstrap
    step "fetching and unpacking Debian $SUITE" bootstrap
    step "removing documentation" slim
    step "copying this host's certificates" certificates
    step "pointing apt to the same mirror" apt_settings
    step "upgrading to the newest security fixes" upgrade
    step "importing $IMAGE" import
}

# Compose reads .env by itself; the builds take BASE from there.
remember() {
    touch .env
    if grep -q '^BASE=' .env; then
        sed -i "s|^BASE=.*|BASE=$IMAGE|" .env
    else
        [ -z "$(tail -c 1 .env)" ] || echo >>.env
        echo "BASE=$IMAGE" >>.env
    fi
}

docker info >/dev/null 2>&1 || fail "no Docker engine answers; start one with containers/engine.sh start"
if docker image inspect "$IMAGE" >/dev/null 2>&1; then
    echo "$IMAGE exists; to rebuild it, first run: docker image rm $IMAGE"
else
    make_image
fi
remember
docker image inspect --format '{{.Size}}' "$IMAGE" |
    awk -v image="$IMAGE" '{ printf "%s: %.0f MB; BASE in .env names it\n", image, $1 / 1e6 }'

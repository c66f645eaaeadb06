#!/bin/sh
# Looks for the programs that make's commands need, and names the one command that installs all that are missing.
#
#   needs.sh java | rust | go | test | all ...
#
# As root on Debian 13, Ubuntu 24.04 or newer it offers to run that command; with INSTALL=1 it does so without asking.
set -eu
missing="" packages="" toolchain=""

# need TEXT PACKAGES: something is missing
need() {
    missing="${missing:+$missing, }$1"
    packages="$packages $2"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# at_least LEAST VERSION
at_least() {
    printf '%s\n' "$1" "$2" | sort --check=silent --version-sort
}

# The folders are some of those in which the harness looks for JDKs (host/jdk.py).
has_jdk() {
    for home in "${JAVA_HOME:-}" /usr/lib/jvm/* /opt/java/* "$HOME"/.sdkman/candidates/java/*; do
        [ -x "$home/bin/javac" ] && [ -f "$home/release" ] || continue
        ! at_least 21 "$(sed -n 's/^JAVA_VERSION="\([0-9.]*\).*/\1/p' "$home/release")" || return 0
    done
    has javac && at_least 21 "$(javac -version 2>&1 | sed 's/^javac //')"
}

look_for_rust() {
    least=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../rust-axum/Cargo.toml")
    if cargo=$(cargo --version 2>/dev/null); then
        at_least "$least" "$(echo "$cargo" | cut -d ' ' -f 2)" || need "Rust $least or newer" rustup
    elif has rustup; then
        toolchain="rustup default stable"
    else
        need "Rust $least or newer" rustup
        toolchain="rustup default stable"
    fi
    has cc || need "a C compiler" "gcc libc6-dev"
}

can_install() {
    [ "$(id -u)" = 0 ] || return 1
    # shellcheck source=/dev/null
    . /etc/os-release 2>/dev/null || return 1
    case ${ID:-} in
        debian) at_least 13 "${VERSION_ID:-0}" ;;
        ubuntu) at_least 24.04 "${VERSION_ID:-0}" ;;
        *) return 1 ;;
    esac
}

# agreed COMMAND: the user lets this script run it
agreed() {
    [ "${INSTALL:-}" != 1 ] || return 0
    [ -t 0 ] || return 1
    printf 'Run "%s" now? [y/N] ' "$1"
    read -r reply && [ "$reply" = y ]
}

# run_or_tell COMMAND: runs a command that root or the user may run, or prints it and ends
run_or_tell() {
    if agreed "$1"; then
        echo "running: $1"
        sh -c "$1"
    else
        echo "run first: $1   (INSTALL=1 runs it without asking)" >&2
        exit 2
    fi
}

"${PYTHON:-python3}" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    need "Python 3.11 or newer with venv" python3-venv
# elsewhere, root's make installs it from the system's packages
has wrk || { [ "$(id -u)" = 0 ] && ! can_install; } || need wrk wrk
case " $* " in *" all "*) set -- java rust go "$@" ;; esac
for what in "$@"; do
    case $what in
        java)
            has_jdk || need "a JDK of version 21 or newer" openjdk-21-jdk-headless
            has mvn || need Maven maven
            ;;
        rust) look_for_rust ;;
        go) has go || need Go golang-go ;;
        test)
            has curl || need curl curl
            has strace || need strace strace
            ;;
    esac
done

if [ -n "$missing" ]; then
    echo "missing: $missing"
    if can_install; then
        run_or_tell "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends$packages"
    elif has apt-get; then
        echo "install what is missing: sudo apt-get install -y --no-install-recommends$packages${toolchain:+, then $toolchain}" >&2
        exit 2
    else
        echo "install what is missing; Debian's packages are:$packages${toolchain:+, then $toolchain}" >&2
        exit 2
    fi
fi
[ -z "$toolchain" ] || run_or_tell "$toolchain"

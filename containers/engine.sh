#!/usr/bin/env bash
# Runs a Docker engine on a Debian or Ubuntu machine that has none, as root:
#
#   containers/engine.sh start [FOLDER]    then, in each shell that uses it:  . FOLDER/env
#   containers/engine.sh stop [FOLDER]
#
# The engine writes only to FOLDER (default: .engine), and stop removes it. If another engine already answers, both
# commands leave it alone.
set -euo pipefail

action=${1:-}
state=$(realpath -m "${2:-$(dirname "$0")/../.engine}")
cd "$(dirname "$0")/.."
# shellcheck source=containers/apt.sh
. containers/apt.sh

PATIENCE_S=60

say() {
    echo "engine: $*"
}

answers() {
    docker info >/dev/null 2>&1
}

# Packages are looked up only if something has to be installed.
update_packages() {
    apt-get update -qq 2>&1 | without_hosts >&2
}

candidate() {
    apt-cache policy "$1" | grep 'Candidate: [^(]' >/dev/null
}

install_engine() {
    local packages=(docker.io iptables iproute2)
    update_packages
    # a separate package since Debian 13
    if ! command -v docker >/dev/null && candidate docker-cli; then
        packages+=(docker-cli)
    fi
    say "installing ${packages[*]}"
    apt_install "${packages[@]}"
}

# Installs the client's plugins compose and buildx, from this host's release if it has them, otherwise from Debian 13.
install_plugins() {
    local missing=() plugin
    for plugin in compose buildx; do
        docker "$plugin" version >/dev/null 2>&1 || missing+=("docker-$plugin")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    say "installing ${missing[*]}"
    update_packages
    if candidate docker-buildx; then
        # Ubuntu's name; its package docker-compose is version 1
        if candidate docker-compose-v2; then
            missing=("${missing[@]/%docker-compose/docker-compose-v2}")
        fi
        apt_install "${missing[@]}"
    else
        unpack_plugins "${missing[@]}"
    fi
    docker compose version >/dev/null
    docker buildx version >/dev/null
}

# Unpacks only the plugins, into this engine's folder, so the host's packages stay as they are.
unpack_plugins() {
    local folder=$state/apt
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/root" "$DOCKER_CONFIG/cli-plugins"
    debian_sources trixie >"$folder/sources.list"
    [ -s "$folder/sources.list" ] || fail "apt has no Debian archive; name one with DEBIAN_MIRROR=http://…"
    (
        cd "$folder"
        apart=(-qq -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- -o APT::Sandbox::User=root
            -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache")
        apt-get "${apart[@]}" update
        apt-get "${apart[@]}" download "$@"
        for package in *.deb; do
            dpkg-deb --extract "$package" root
        done
    ) 2>&1 | without_hosts
    find "$folder/root" -path '*/cli-plugins/*' -type f -exec cp {} "$DOCKER_CONFIG/cli-plugins" \;
    rm -rf "$folder"
}

# Notes what the engine changes in this network namespace. Another engine's network stays as it is.
remember_network() {
    local family
    for family in iptables ip6tables; do
        "$family" --wait -S FORWARD 2>/dev/null | awk '$1 == "-P" { print $3 }' >"$state/$family" || true
    done
    cat /proc/sys/net/ipv4/ip_forward >"$state/ip_forward"
}

# Removes the engine's bridges, rules and chains, which it leaves behind, and restores what it changed.
restore_network() {
    local family bridge forward=/proc/sys/net/ipv4/ip_forward
    [ -e "$state/ip_forward" ] || return 0
    if another_engine; then
        say "another engine runs, so the network stays as it is"
        return 0
    fi
    for bridge in docker0 docker_gwbridge; do
        ! has_link "$bridge" || ip link delete "$bridge" || say "cannot delete $bridge"
    done
    for family in iptables ip6tables; do
        [ -s "$state/$family" ] || continue
        "$family-save" --counters | without_engine_rules | "$family-restore" --counters --wait ||
            say "cannot remove the engine's rules of $family"
        "$family" --wait -P FORWARD "$(cat "$state/$family")" ||
            say "cannot restore the policy of FORWARD: $family -P FORWARD $(cat "$state/$family")"
    done
    [ "$(cat "$forward")" = "$(cat "$state/ip_forward")" ] || cat "$state/ip_forward" >"$forward" ||
        say "cannot restore $forward"
}

# Removes the engine's chains, the rules in them or leading to them, those of its bridges, and those of published ports.
without_engine_rules() {
    sed -E '/^:DOCKER[-_ ]|-[Aj] DOCKER([-_ ]|$)|-[io] (docker0|docker_gwbridge|br-[0-9a-f]{12})( |$)/d
        /-A POSTROUTING -s ([0-9a-f.:]+\/(32|128)) -d \1 .*-j MASQUERADE/d'
}

# Checks whether an engine runs in this network namespace.
another_engine() {
    local process
    for process in $(processes dockerd); do
        if [ "$process/ns/net" -ef /proc/self/ns/net ]; then
            return 0
        fi
    done
    return 1
}

has_link() {
    ip link show "$1" >/dev/null 2>&1
}

start_daemon() {
    local waited=0 pid
    has_link docker0 || remember_network
    # an old engine keeps 2 GB of build cache, less than one of these builds needs
    echo '{"builder": {"gc": {"enabled": true, "defaultKeepStorage": "20GB"}}}' >"$state/daemon.json"
    # in a separate session, so that Ctrl-C does not end it before stop does
    setsid dockerd --config-file "$state/daemon.json" --host "$DOCKER_HOST" --pidfile "$state/dockerd.pid" \
        --data-root "$state/data" --exec-root "$state/exec" </dev/null >"$state/dockerd.log" 2>&1 &
    pid=$!
    until answers; do
        if [ "$waited" -ge "$PATIENCE_S" ] || ! kill -0 "$pid" 2>/dev/null; then
            tail -n 20 "$state/dockerd.log" >&2
            stop
            fail "dockerd did not answer within $PATIENCE_S s; the end of its log is above"
        fi
        sleep 1
        waited=$((waited + 1))
    done
}

start() {
    # the file marks a folder of an earlier start; stop removes only marked folders
    if [ -f "$state/env" ]; then
        . "$state/env"
    elif [ -n "$(ls -A "$state" 2>/dev/null)" ]; then
        fail "$state is not empty and not an engine folder; name a folder that is empty or does not exist"
    fi
    mkdir -p "$state"
    touch "$state/env"
    if answers; then
        say "another engine already answers; using that one"
        return
    fi
    [ "$(id -u)" = 0 ] || fail "no engine answers, and only root can start one: sudo $0 start"
    command -v apt-get >/dev/null || fail "no engine answers, and this installs one on Debian and Ubuntu only"
    export DOCKER_HOST=unix://$state/docker.sock DOCKER_CONFIG=$state/config
    if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null || ! command -v ip >/dev/null; then
        install_engine
    fi
    install_plugins
    start_daemon
    printf 'export DOCKER_HOST=%q DOCKER_CONFIG=%q\n' "$DOCKER_HOST" "$DOCKER_CONFIG" >"$state/env"
    say "$(docker info --format 'version {{.ServerVersion}}, storage {{.Driver}}, cgroup v{{.CgroupVersion}}')"
    say "to use it in a shell:  . $state/env"
}

# Prints the folders in /proc of the processes with this name, which may be a pattern.
processes() {
    local process name
    for process in /proc/[0-9]*; do
        { read -r name <"$process/comm"; } 2>/dev/null || continue
        # shellcheck disable=SC2254
        case $name in
            $1) echo "$process" ;;
        esac
    done
}

# Prints the processes with this name that have this folder on their command line.
ours() {
    local process
    for process in $(processes "$1"); do
        if tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -F "$state/" >/dev/null; then
            echo "${process#/proc/}"
        fi
    done
}

# Prints containers and build steps by the names of their control groups.
contained() {
    find "$state/data/containers" "$state/data/buildkit/executor" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' 2>/dev/null |
        grep -E '^[0-9a-z]{25,}$' || true
}

# Kills the containers that a killed engine left running.
kill_contained() {
    local group pid
    contained | while read -r group; do
        for pid in $(grep -lF "$group" /proc/[0-9]*/cgroup 2>/dev/null | cut -d / -f 3); do
            kill -KILL "$pid" 2>/dev/null || true
        done
    done
}

# Removes what only a running engine would remove: control groups, and bridges that its store names.
remove_traces() {
    local group bridge
    contained | while read -r group; do
        find /sys/fs/cgroup -depth -type d -name "*$group*" -exec rmdir {} + 2>/dev/null || true
    done
    for bridge in /sys/class/net/br-*; do
        [ -e "$bridge" ] || continue
        if grep -aqF "${bridge##*/br-}" "$state/data/network/files/local-kv.db" 2>/dev/null; then
            ip link delete "${bridge##*/}" || true
        fi
    done
}

# await_end SECONDS: waits until dockerd has ended, at most so long.
await_end() {
    local waited=0
    while [ -n "$(ours dockerd)" ] && [ "$waited" -lt "$1" ]; do
        sleep 1
        waited=$((waited + 1))
    done
}

stop() {
    local pid
    [ -e "$state/env" ] || return 0
    export DOCKER_HOST=unix://$state/docker.sock
    # bridges are removed only with their networks
    if answers; then
        docker ps --all --quiet | xargs --no-run-if-empty docker rm --force >/dev/null || true
        docker network prune --force >/dev/null || true
    fi
    for pid in $(ours dockerd); do
        kill -TERM "$pid" || true
    done
    await_end "$PATIENCE_S"
    kill_contained
    # containerd, and a shim for each container
    for pid in $(ours dockerd) $(ours 'containerd*'); do
        kill -KILL "$pid" || true
    done
    # a process that has not ended yet would count as another engine
    await_end 5
    remove_traces
    awk -v folder="$state/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r | while read -r place; do
        umount "$place" || true
    done
    restore_network
    rm -rf --one-file-system "$state"
}

case $action in
    start | stop) "$action" ;;
    *) fail "usage: engine.sh start|stop [FOLDER]" ;;
esac

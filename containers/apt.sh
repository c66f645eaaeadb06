# Sourced by the scripts beside it: what they ask of apt.

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 2
}

# Hides where packages come from: a log may be seen by more people than may know that.
without_hosts() {
    sed -E -e 's#(https?|ftp)://[^/ ]+#\1://…#g' -e "s#resolving '[^']*'#resolving '…'#"
}

# Installs packages without starting their services: what is to run, these scripts start, with folders of their own.
apt_install() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" 2>&1 >/dev/null | without_hosts >&2
)

# Lines "release URI", "updates URI", "security URI": the Debian archives among this host's own sources. apt itself reads
# them, in whatever form they are, and tells of those whose lists it has. DEBIAN_MIRROR names another one.
debian_archives() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        echo "release $DEBIAN_MIRROR"
        return
    fi
    apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)' 'Created-By: Packages' |
        awk -F '|' '
            $1 != "Debian" || $3 != "main" || $4 ~ /proposed/ { next }
            { kind = $2 == "Debian-Security" ? "security" : $4 ~ /-updates$/ ? "updates" : "release" }
            !seen[kind]++ { print kind, $5 }'
}

# The same archives for a release of Debian, as lines for apt; a password in a URI is left out.
debian_sources() {
    local release=$1 kind uri suite
    debian_archives | while read -r kind uri; do
        suite=$release
        [ "$kind" = release ] || suite=$release-$kind
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
    done | sed -E 's#//[^/@ ]*@#//#'
}

# apt functions that the scripts in this folder source.

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 2
}

# Hides the hosts that packages come from, because logs may be public and the hosts may not.
without_hosts() {
    sed -E -e 's#(https?|ftp)://[^/ ]+#\1://…#g' -e "s#resolving '[^']*'#resolving '…'#"
}

# Installs packages without starting their services; these scripts start services themselves, with separate folders.
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

# Lines "release URI", "updates URI", "security URI": the Debian archives among this host's apt sources. apt parses
# the sources, whatever their format, and reports those whose lists it has. DEBIAN_MIRROR names another archive.
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

# Prints apt source lines for a release of Debian, with the same archives and without passwords in URIs.
debian_sources() {
    local release=$1 kind uri suite
    debian_archives | while read -r kind uri; do
        suite=$release
        [ "$kind" = release ] || suite=$release-$kind
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
    done | sed -E 's#//[^/@ ]*@#//#'
}

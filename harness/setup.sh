#!/bin/sh
# Makes the Python environment in FOLDER from requirements.lock: setup.sh FOLDER, with PYTHON or python3. Then
# "setup.sh FOLDER development" adds what tests and lint need, from requirements-dev.lock.
#
# The harness is found from the environment by a relative path, so that a clone that was copied or moved runs its own
# code. The file .ready in it holds the path that everything else in it belongs to.
set -eu
venv=$1
python=${PYTHON:-python3}
harness=$(cd "$(dirname "$0")" && pwd -P)

fail() {
    echo "setup: $*" >&2
    exit 2
}

[ "$(uname -s)" = Linux ] ||
    fail "the harness needs Linux, because it reads /proc; on other systems run it in a Linux virtual machine"

# These settings would break a separate environment; mirrors and proxies are kept.
unset PYTHONHOME PYTHONPATH PYTHONOPTIMIZE PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_CONSTRAINT
export PIP_USER=0 PIP_DRY_RUN=0 PIP_NO_DEPS=0

# install LOCK...
install() {
    for lock in "$@"; do
        set -- "$@" --requirement "$harness/$lock"
        shift
    done
    "$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check --require-hashes "$@" ||
        fail "pip could not install what the harness needs, for the reason above"
}

if [ "${2:-}" = development ]; then
    install requirements.lock requirements-dev.lock
    touch "$venv/.development"
    exit
fi

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "the harness needs Python 3.11 or newer; name one with PYTHON=/path/to/python3"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "the venv module is missing; on Debian or Ubuntu: apt-get install python3-venv"

belongs_to=$(cat "$venv/.ready" 2>/dev/null || true)
refused=$({ mkdir -p "$venv" && touch "$venv/.new" && rm -f "$venv/.new" "$venv/.ready"; } 2>&1) ||
    fail "cannot write the environment: $refused"
anew=--clear
[ "$belongs_to" != "$(pwd -P)" ] || anew=
"$python" -m venv $anew "$venv" || fail "\"$python -m venv $venv\" failed; the reason is above"

# The same settings in a user's pip.conf: this file is read after it, and an empty value counts as none.
for section in global install; do
    printf '[%s]\nuser = no\ntarget =\nprefix =\nroot =\nconstraint =\n' $section
done >"$venv/pip.conf"
install requirements.lock
first=$(sed -n 's/^\([a-z][a-z0-9_-]*\)==.*/\1/p' "$harness/requirements.lock" | head -n 1)
"$venv/bin/python" -I -m pip show --quiet "${first:-pip}" ||
    fail "pip installed into another folder than $venv; run $venv/bin/python -m pip config debug to find the setting"

"$venv/bin/python" -I - "$harness" <<'PYTHON'
import os, pathlib, sys, sysconfig
packages = pathlib.Path(sysconfig.get_path("purelib"))
(packages / "zoo.pth").write_text(os.path.relpath(sys.argv[1], packages) + "\n")
PYTHON
cat >"$venv/bin/zoo" <<'SHELL'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/python" -I -m zoo "$@"
SHELL
chmod +x "$venv/bin/zoo"
pwd -P >"$venv/.ready"

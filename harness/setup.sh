#!/bin/sh
# Makes the Python environment in FOLDER from requirements.lock: setup.sh FOLDER, with PYTHON or python3.
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
    fail "the harness needs Linux, as it reads /proc; elsewhere run it in a Linux virtual machine"

# What these settings are made for breaks an environment of its own; mirrors and proxies stay.
unset PYTHONHOME PYTHONPATH PYTHONOPTIMIZE PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_CONSTRAINT
export PIP_USER=0 PIP_DRY_RUN=0 PIP_NO_DEPS=0

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Python 3.11 or newer is needed; PYTHON=/path/to/python3 names one"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "the venv module is missing; on Debian or Ubuntu: apt-get install python3-venv"

belongs_to=$(cat "$venv/.ready" 2>/dev/null || true)
refused=$({ mkdir -p "$venv" && touch "$venv/.new" && rm -f "$venv/.new" "$venv/.ready"; } 2>&1) ||
    fail "the environment cannot be written: $refused"
anew=--clear
[ "$belongs_to" != "$(pwd -P)" ] || anew=
"$python" -m venv $anew "$venv" || fail "\"$python -m venv $venv\" failed, for the reason above"

# The same settings in a user's pip.conf: this file is read after it, and an empty value counts as none.
for section in global install; do
    printf '[%s]\nuser = no\ntarget =\nprefix =\nroot =\nconstraint =\n' $section
done >"$venv/pip.conf"
"$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check --require-hashes -r "$harness/requirements.lock" ||
    fail "pip could not install what the harness needs, for the reason above"
first=$(sed -n 's/^\([a-z][a-z0-9_-]*\)==.*/\1/p' "$harness/requirements.lock" | head -n 1)
"$venv/bin/python" -I -m pip show --quiet "${first:-pip}" ||
    fail "pip installed into another folder than $venv: $venv/bin/python -m pip config debug shows the setting"

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

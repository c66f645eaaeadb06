#!/bin/sh
# Puts the profilers of `zoo explain` into .tools/bin: async-profiler (for JVMs, from Maven) and inferno, which folds the
# stacks that perf records (for other servers, built by Cargo). `jvm` as argument installs only the first.
set -eu
async_profiler=4.4
inferno=0.12.8
cd "$(dirname "$0")/.."
tools=$PWD/.tools/bin
library=$tools/async-profiler/$async_profiler/libasyncProfiler.so

if [ ! -f "$library" ]; then
    case $(uname -m) in
        x86_64) platform=linux-x64 ;;
        aarch64) platform=linux-arm64 ;;
        *) echo "async-profiler has no library for $(uname -m)" >&2 && exit 1 ;;
    esac
    echo "fetching async-profiler $async_profiler into .tools/bin"
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    # the plugin leaves a folder of markers in the one it is run in
    (cd "$folder" && mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack \
        "-Dartifact=tools.profiler:async-profiler:$async_profiler" "-DoutputDirectory=$folder")
    mkdir -p "$(dirname "$library")"
    mv "$folder/$platform/libasyncProfiler.so" "$library"
fi

[ "${1:-}" = jvm ] && exit 0
if [ ! -x "$tools/inferno-collapse-perf" ]; then
    echo "building inferno $inferno into .tools/bin (2 minutes)"
    cargo install --quiet --locked --root "$PWD/.tools" --bin inferno-collapse-perf "inferno@$inferno"
fi

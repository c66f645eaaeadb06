#!/bin/sh
# Writes an SBOM for each part of the project (CycloneDX, .tools/sbom/*.cdx.json) and checks them with OSV-Scanner for
# known vulnerabilities. Exit code 1 if it finds some, 3 if it could not check: no scanner, or no advisories.
set -eu

cd "$(dirname "$0")/.."
sbom=$PWD/.tools/sbom
maven=org.cyclonedx:cyclonedx-maven-plugin:2.9.3
python=7.5.0
cargo=0.5.9

rm -rf "$sbom"
mkdir -p "$sbom"

for pom in */pom.xml; do
    name=${pom%/pom.xml}
    mvn -q -B -f "$pom" "$maven:makeBom" -DoutputFormat=json -DoutputDirectory="$sbom" -DoutputName="$name.cdx"
done

[ -x .tools/cyclonedx/bin/cyclonedx-py ] || {
    python3 -m venv .tools/cyclonedx
    .tools/cyclonedx/bin/pip install --quiet --disable-pip-version-check "cyclonedx-bom==$python"
}
for lock in requirements requirements-dev; do
    .tools/cyclonedx/bin/cyclonedx-py requirements "harness/$lock.lock" --output-file "$sbom/harness-$lock.cdx.json"
done

[ -x .tools/bin/cargo-cyclonedx ] ||
    cargo install --quiet --locked --root "$PWD/.tools" --version "$cargo" cargo-cyclonedx
(cd rust-axum && PATH=$PWD/../.tools/bin:$PATH cargo cyclonedx --quiet --format json --override-filename rust-axum.cdx)
mv rust-axum/rust-axum.cdx.json "$sbom/"

for file in "$sbom"/*.cdx.json; do
    echo "$(basename "$file"): $(grep -c '"purl"' "$file") packages"
done

if ! command -v osv-scanner >/dev/null; then
    echo "did not check for vulnerabilities: OSV-Scanner is not installed (https://google.github.io/osv-scanner)"
    exit 3
fi
osv-scanner scan source --recursive "$sbom" || {
    code=$?
    [ $code = 1 ] && exit 1
    echo "did not check for vulnerabilities: OSV-Scanner exited with code $code"
    exit 3
}

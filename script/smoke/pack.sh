#!/usr/bin/env bash
# Packs the hardware test of one binding into one file that unpacks itself:  pack.sh nccl|hccl|sccl FILE
# SMOKE_MAVEN_OPTIONS, for instance -o, go to Maven.
set -euo pipefail
binding=$1
file=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
limit_mib=64

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pack=$work/pack
mkdir -p "$pack/lib" "$pack/classes" "$(dirname "$file")"

# shellcheck disable=SC2086
mvn -B -ntp -q ${SMOKE_MAVEN_OPTIONS:-} package dependency:copy-dependencies -pl "$binding-binding,cli,examples" -am \
    -DskipTests -Dmaven.javadoc.skip -Dmaven.source.skip -Dspotless.check.skip \
    -DincludeScope=test -DexcludeArtifactIds=archunit,jazzer-junit -DoutputDirectory="$pack/lib"
rm -f "$pack"/lib/jccl-*-tests.jar "$pack"/lib/slf4j-* "$pack"/lib/archunit* "$pack"/lib/jazzer*
cp examples/target/jccl-examples-*.jar cli/target/jccl-cli-*.jar "$pack/lib/"
rm -f "$pack"/lib/*-sources.jar "$pack"/lib/*-javadoc.jar "$pack"/lib/*-tests.jar
cp -r java-api/target/test-classes "$pack/classes/java-api"
cp -r "$binding-binding/target/test-classes" "$pack/classes/binding"
cp script/smoke/run.sh "$pack/"
cp -r "script/smoke/$binding" "$pack/device"
if [[ -f script/smoke/$binding/device_time.cc ]]; then
    # The mocks' declarations are those of the real libraries, which are loaded when it runs.
    g++ -O2 -std=c++17 -Wall -Wextra -Werror -static-libstdc++ -static-libgcc -I native/mock/front \
        "script/smoke/$binding/device_time.cc" -ldl -o "$pack/device/device_time"
    rm "$pack/device/device_time.cc"
fi

java_home=$(dirname "$(dirname "$(readlink -f "$(command -v "${JAVA_HOME:+$JAVA_HOME/bin/}jlink")")")")
compress=zip-6
grep -qE '^JAVA_VERSION="(17|18|19|20)' "$java_home/release" && compress=2
"$java_home/bin/jlink" --output "$pack/jre" --compress="$compress" --strip-debug --no-header-files --no-man-pages \
    --add-modules java.base,java.instrument,java.logging,java.management,java.xml,jdk.management,jdk.net,jdk.unsupported

{
    echo "JCCL $(git describe --always --dirty 2>/dev/null || echo 'of an unknown commit')"
    sed -n 's/^JAVA_VERSION=/Java /p' "$java_home/release"
} >"$pack/VERSION"

{
    cat <<'HEADER'
#!/bin/sh
# JCCL's hardware test. Run it:  sh FILE [REPORT_FOLDER]     TMPDIR must be a folder whose programs may run.
set -eu
folder=$(mktemp -d "${TMPDIR:-/tmp}/jccl-smoke.XXXXXX")
trap 'rm -rf "$folder"' EXIT
lines=$(sed -n '/^# END OF THE SCRIPT$/{=;q;}' "$0")
tail -n "+$((lines + 1))" "$0" | gzip -dc | tar -C "$folder" -xf -
code=0
"$folder/run.sh" "$@" || code=$?
exit "$code"
# END OF THE SCRIPT
HEADER
    tar -C "$pack" -cf - . | gzip -9
} >"$file"
chmod +x "$file"
ls -lh "$file"
if (($(stat -c %s "$file") > limit_mib << 20)); then
    echo "smoke: $file has more than $limit_mib MiB" >&2
    exit 1
fi

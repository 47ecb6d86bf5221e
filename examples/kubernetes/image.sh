#!/usr/bin/env bash
# Puts together what an image holds: a Java runtime of the modules that are used, the jccl command, and the examples.
#   examples/kubernetes/image.sh DIR      needs a JDK (17 or later), and mvn package -pl cli,examples -am
set -euo pipefail
target=${1:?usage: examples/kubernetes/image.sh DIR}
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [[ -e $target ]]; then
    echo "image: $target is there already" >&2
    exit 1
fi

mkdir -p "$target/bin" "$target/lib" "$target/app"
cp "$source/bin/jccl" "$target/bin/"
for jar in "$source"/cli/target/jccl-cli-*.jar "$source"/cli/target/lib/*.jar; do
    case ${jar##*/} in
        *-sources.jar | *-javadoc.jar | *-tests.jar) ;;
        *) cp "$jar" "$target/lib/" ;;
    esac
done
for jar in "$source"/examples/target/jccl-examples-*.jar "$source"/examples/target/lib/jccl-training-*.jar; do
    case ${jar##*/} in
        *-sources.jar | *-javadoc.jar | *-tests.jar) ;;
        *) cp "$jar" "$target/app/" ;;
    esac
done

# logging: what System.Logger writes to; management: stacks in reports; jdk.management: jccl bench; jdk.unsupported: memory by
# address before Java 22.
"${JAVA_HOME:+$JAVA_HOME/bin/}jlink" \
    --add-modules java.base,java.logging,java.management,jdk.crypto.ec,jdk.management,jdk.unsupported \
    --strip-debug --no-header-files --no-man-pages --output "$target/runtime"
du -sh "$target"/*
du -sh "$target"

#!/usr/bin/env bash
# Builds the mocks and their self test, and runs it:  run.sh OUT_DIR [part of a case's name]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: run.sh OUT_DIR [CASE]}
"$here/../build.sh" "$out"
out=$(cd "$out" && pwd)
test=$out/selftest
if [[ -n $(find "$here" "$here/../front" "$out/libnccl.so.2" -newer "$test" 2>/dev/null) || ! -e $test ]]; then
    g++ -std=c++17 -O1 -pthread -Wall -Wextra -Werror "$here"/*.cc -o "$test" \
        "$out/libnccl.so.2" "$out/libcudart.so.13" -Wl,-rpath,'$ORIGIN' -ldl
fi
# The cases choose these themselves.
for variable in $(compgen -e | grep -E '^(MOCK|NCCL)_' || true); do unset "$variable"; done
MOCK_LIBRARIES=$out timeout 120 "$test" "${@:2}"

#!/usr/bin/env bash
# Builds the mocks and their self tests, and runs them:  run.sh OUT_DIR [nccl|hccl|sccl [part of a case's name]]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: run.sh OUT_DIR [nccl|hccl|sccl [CASE]]}
fronts=(${2:-nccl hccl sccl})
"$here/../build.sh" "$out" "${fronts[@]}"
out=$(cd "$out" && pwd)
declare -A libraries=(
    [nccl]="$out/libnccl.so.2 $out/libcudart.so.13"
    [hccl]="$out/libhcomm.so $out/libacl_rt.so"
    [sccl]="$out/libsccl.so $out/libtpudnn.so $out/libtpurt.so"
)
# The cases choose these themselves.
for variable in $(compgen -e | grep -E '^(MOCK|NCCL|HCCL|SCCL|ASCEND)_' || true); do unset "$variable"; done
export MOCK_LIBRARIES=$out ASCEND_COREDUMP_SIGNAL=none HCCL_WHITELIST_DISABLE=1
for front in "${fronts[@]}"; do
    test=$out/selftest-$front
    if [[ ! -e $test || -n $(find "$here" "$here/../front" ${libraries[$front]} -newer "$test") ]]; then
        g++ -std=c++17 -O1 -pthread -Wall -Wextra -Werror "$here/$front"*.cc -o "$test" \
            ${libraries[$front]} -Wl,-rpath,'$ORIGIN' -ldl
    fi
    timeout 180 "$test" "${@:3}"
    # What we ask somebody with TPUs to run must build and run.
    if [[ $front == sccl && -z ${3-} ]]; then
        gcc -Wall -Wextra -Werror "$here/../../../docs/hardware/sccl_check.c" -o "$out/sccl_check" -ldl -pthread
        printf 'mock kernels for sg2260' > "$out/objects/kernel_module"
        MOCK_DELAY_US=20000 timeout 150 "$out/sccl_check" "$out/torch_tpu/lib" sg2260 "$out/objects/kernel_module"
    fi
done

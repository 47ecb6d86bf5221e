# Huawei Ascend NPUs with HCCL, for run.sh. Source CANN's set_env.sh before, or name the libraries in JCCL_HCCL_ACL and
# JCCL_HCCL_LIBRARY.
LIBRARY=HCCL
BACKEND=hccl
CONFORMANCE=org.jccl.hccl.SmokeConformance
HOST_COST=org.jccl.hccl.HostCostTest
CAN_SHARE=no

find_libraries() {
    local environment=/usr/local/Ascend/ascend-toolkit/set_env.sh
    if [[ -z ${ASCEND_HOME_PATH-}${JCCL_HCCL_LIBRARY-} && -f $environment ]]; then
        set +u
        # shellcheck source=/dev/null
        . "$environment"
        set -u
    fi
}

smi() { command -v npu-smi >/dev/null && timeout --kill-after=5 60 npu-smi "$@" 2>/dev/null; }

count_devices() { echo "${SMOKE_DEVICES:-$(smi info -m | grep -c 'Ascend')}"; }

name_devices() {
    local names
    names=$(smi info -m | grep -o 'Ascend.*' | sed 's/ *$//' | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1 x /' | paste -sd '+')
    echo "${names:-none}"
}

describe_devices() {
    echo "CANN: ${ASCEND_HOME_PATH:-searched for}"
    smi info || echo "no npu-smi: there is no NPU here"
    smi info -t topo
    cat "${ASCEND_HOME_PATH:-/nowhere}"/version.cfg 2>/dev/null
    [[ -n $python ]] && timeout --kill-after=5 120 "$python" -c 'import torch, torch_npu; print("torch_npu", torch_npu.__version__)'
    return 0
}

more_steps() {
    if ((ranks > 1)); then
        step overlap 90 env JCCL_TRACE_DIR="$report/recordings" "${several[@]}" \
            org.jccl.examples.Overlap --backend hccl --device npu --trace "$report/overlap.json"
        step trace 30 "${java[@]}" org.jccl.cli.Jccl trace "$report/recordings" -o "$report/trace.json"
    fi
}

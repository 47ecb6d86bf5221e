# Huawei Ascend NPUs with HCCL, for run.sh. Source CANN's set_env.sh before, or name the libraries in JCCL_HCCL_ACL and
# JCCL_HCCL_LIBRARY.
LIBRARY=HCCL
BACKEND=hccl
CONFORMANCE=org.jccl.hccl.SmokeConformance
HOST_COST=org.jccl.hccl.HostCostTest
NATIVE=no
CAN_SHARE=no
PAUSE=10 # until the last process's HCCP has left the device, by Huawei's page on EJ0001

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

# Those that a process sees. In a container npu-smi is often missing, and else names all of the host's devices.
count_devices() {
    local files named entries
    if [[ -n ${SMOKE_DEVICES-} ]]; then
        echo "$SMOKE_DEVICES"
        return
    fi
    files=$(find "${SMOKE_DEV:-/dev}" -maxdepth 1 -name 'davinci[0-9]*' | wc -l)
    named=$(smi info -m | grep -c Ascend)
    ((named == 0 || files < named)) && named=$files
    if [[ -n ${ASCEND_RT_VISIBLE_DEVICES-} ]]; then
        entries=$(tr ',' '\n' <<<"$ASCEND_RT_VISIBLE_DEVICES" | grep -c '[0-9]')
        ((entries < named)) && named=$entries
    fi
    echo "$named"
}

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

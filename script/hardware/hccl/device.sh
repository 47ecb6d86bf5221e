# Huawei Ascend NPUs with HCCL, for run.sh. Source CANN's set_env.sh before, or name the libraries in JCCL_HCCL_ACL and
# JCCL_HCCL_LIBRARY.
LIBRARY=HCCL
BACKEND=hccl
CONFORMANCE=org.jccl.hccl.SmokeConformance
HOST_COST=org.jccl.hccl.HostCostTest
NATIVE=no
CAN_SHARE=no
PAUSE=10 # until the last process's HCCP has left the device, by Huawei's page on EJ0001

# Huawei's simulator HCCL-VM, whose hccl_config.sh names its folder: see docs/hardware/hccl-vm.md. SMOKE_SIMULATOR tries this on
# mocks.
simulated() { [[ -n ${HCCL_VM_INSTALL_DIR-}${SMOKE_SIMULATOR-} ]]; }
if simulated; then
    PAUSE=0
    SMOKE_STEPS=${SMOKE_STEPS:-^(environment|simulator-)}
    : "${SMOKE_DEVICES:=2}"
    : "${SMOKE_SECONDS:=5400}" # a round takes seconds; the limits of the steps grow with it
    seconds=$SMOKE_SECONDS end=$((SECONDS + seconds))
fi

find_libraries() {
    local proxies=${HCCL_VM_INSTALL_DIR-}/lib/x86_64/libhccl_proxy_level2.so
    if simulated && [[ -f $proxies ]]; then
        # Functions are looked up in files by name, and LD_PRELOAD does not come before that.
        export JCCL_HCCL_ACL=${JCCL_HCCL_ACL:-$proxies}
        export JCCL_HCCL_LIBRARY=${JCCL_HCCL_LIBRARY:-${ASCEND_HOME_PATH-}/lib64/libhccl.so}
    fi
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

# What the simulator computes: integers, and as few calls as can be, since all ranks must wait for each.
simulator_steps() {
    local operation reason='HCCL-VM simulates no operators of CANN, not all collectives, and no floating-point reductions'
    for operation in all_reduce all_gather reduce_scatter alltoall; do
        # shellcheck disable=SC2016
        step "simulator-$operation" 120 "${java[@]}" org.jccl.cli.Jccl run --nproc-per-node "$ranks" -- \
            bash -c 'export OMPI_COMM_WORLD_RANK=$RANK && exec "$@"' rank "${java[@]}" \
            org.jccl.cli.Jccl bench "$operation" --backend hccl -d int32 -b 64 -e 1K -f 16 --iters 1 --warmup 0
    done
    SMOKE_STEPS=. skip conformance-1-rank "$reason"
    SMOKE_STEPS=. skip "conformance-$ranks-ranks" "$reason"
    SMOKE_STEPS=. skip bandwidth "HCCL-VM has no time: each event takes 1 ms"
    SMOKE_STEPS=. skip host-cost "HCCL-VM keeps its state in a database, which each call asks"
    SMOKE_STEPS=. skip overlap "HCCL-VM has no time, and computes only when all ranks wait"
}

more_steps() {
    if simulated; then
        simulator_steps
        return
    fi
    if ((ranks > 1)); then
        step overlap 90 env JCCL_TRACE_DIR="$report/recordings" "${several[@]}" \
            org.jccl.examples.Overlap --backend hccl --device npu --trace "$report/overlap.json"
        step trace 30 "${java[@]}" org.jccl.cli.Jccl trace "$report/recordings" -o "$report/trace.json"
    fi
}

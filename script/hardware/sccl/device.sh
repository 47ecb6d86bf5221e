# Sophgo TPUs with SCCL, for run.sh. torch_tpu is looked for in the Python at hand; JCCL_SCCL_TPUDNN, JCCL_SCCL_TPURT and
# JCCL_SCCL_LIBRARY name its libraries elsewhere. RANK_TABLE_FILE or CHIP_MAP name the TPUs in the order of their ring.
LIBRARY=SCCL
BACKEND=sccl
CONFORMANCE=org.jccl.sccl.SmokeConformance
HOST_COST=org.jccl.sccl.HostCostTest
NATIVE=no
CAN_SHARE=no
PAUSE=0

find_libraries() {
    local prefix
    if [[ -z ${VIRTUAL_ENV-}${CONDA_PREFIX-}${JCCL_SCCL_LIBRARY-} && -n $python ]]; then
        prefix=$("$python" -c 'import sys; print(sys.prefix)')
        export VIRTUAL_ENV=$prefix
    fi
}

count_devices() {
    local files
    files=(/dev/sg-host-drv-[0-9]* /dev/bm-sophon[0-9]*)
    if [[ -n ${SMOKE_DEVICES-} ]]; then
        echo "$SMOKE_DEVICES"
    else
        printf '%s\n' "${files[@]}" | grep -vc '[*]'
    fi
}

name_devices() {
    local count
    count=$(count_devices)
    if ((count == 0)) || [[ -n ${SMOKE_DEVICES-} ]]; then
        echo none
    else
        echo "$count x ${CHIP_ARCH:-Sophgo TPU}"
    fi
}

describe_devices() {
    echo "LD_LIBRARY_PATH: ${LD_LIBRARY_PATH-}"
    ls -l /dev/sg-host-drv-* /dev/bm-sophon* 2>/dev/null || echo "no device file: there is no TPU here"
    [[ -n $python ]] && timeout --kill-after=5 120 "$python" -m pip show torch_tpu 2>/dev/null
    return 0
}

more_steps() { :; }

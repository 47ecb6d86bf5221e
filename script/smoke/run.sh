#!/usr/bin/env bash
# Runs the smoke test of this folder on a machine with a GPU, a CUDA runtime and NCCL; needs no Java and no
# network:  run.sh [REPORT_FOLDER]
# Writes report.md, report.json and the steps' logs. JCCL_NCCL_DRIVER, JCCL_NCCL_CUDART and JCCL_NCCL_LIBRARY
# name the libraries where they are not found; SMOKE_RANKS says how many ranks share the GPU (2), and
# SMOKE_CASES_SECONDS how long their conformance cases may take (900).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
report=${1:-$PWD/smoke-report}
mkdir -p "$report"
report=$(cd "$report" && pwd)
: >"$report/steps.txt"
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
ranks=${SMOKE_RANKS:-2}
python=$(command -v python3 || true)

# PyTorch brings both libraries, where neither the dynamic linker nor CUDA_HOME knows of them.
pip_library() {
    [[ -n $python ]] && "$python" - "$@" <<'PYTHON'
import glob, sys
for folder in sys.path:
    for pattern in sys.argv[1:]:
        for file in sorted(glob.glob(f"{folder}/nvidia/{pattern}")):
            print(file)
            sys.exit()
PYTHON
}
if [[ -z ${JCCL_NCCL_LIBRARY-} ]]; then
    found=$(pip_library 'nccl/lib/libnccl.so.2')
    [[ -n $found ]] && export JCCL_NCCL_LIBRARY=$found
fi
if [[ -z ${JCCL_NCCL_CUDART-} ]]; then
    found=$(pip_library 'cu13/lib/libcudart.so.13' 'cuda_runtime/lib/libcudart.so.13')
    [[ -n $found ]] && export JCCL_NCCL_CUDART=$found
fi

gpu=no
if command -v nvidia-smi >/dev/null && timeout --kill-after=5 60 nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then gpu=yes; fi

java=("$here/jre/bin/java" "-Dorg.bytedeco.javacpp.cachedir=$cache" -cp
    "$here/classes/nccl-binding:$here/classes/java-api:$here/lib/*")
((ranks > 1)) && several=("${java[@]}" org.jccl.cli.Jccl run --nproc-per-node "$ranks" -- "$here/rank.sh" "${java[@]}")

step() { # NAME SECONDS COMMAND...
    local name=$1 limit=$2 start=$SECONDS code=0
    shift 2
    echo "== $name"
    timeout --kill-after=10 "$limit" "$@" >"$report/$name.log" 2>&1 || code=$?
    echo "$name $code $((SECONDS - start))" >>"$report/steps.txt"
    tail -n 3 "$report/$name.log"
}

environment() {
    cat "$here/VERSION"
    date -u
    uname -a
    "${java[0]}" -version
    echo "driver:  ${JCCL_NCCL_DRIVER:-searched for}"
    echo "runtime: ${JCCL_NCCL_CUDART:-searched for}"
    echo "NCCL:    ${JCCL_NCCL_LIBRARY:-searched for}"
    timeout --kill-after=5 60 nvidia-smi || echo "no nvidia-smi: there is no GPU here"
    ldconfig -p 2>/dev/null | grep -E 'libcuda\.so|libcudart|libnccl'
    [[ -n $python ]] && timeout --kill-after=5 120 "$python" -c 'import torch; print("torch", torch.__version__, torch.version.cuda)'
    timeout --kill-after=5 120 "${java[@]}" org.jccl.nccl.SmokeVersions
}

one_rank=(env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 "MASTER_PORT=${SMOKE_PORT:-29511}" LOCAL_RANK=0)

# Each of its programs has a time limit of its own, since a wedged driver stops any of them.
start=$SECONDS
environment >"$report/environment.log" 2>&1
echo "environment $? $((SECONDS - start))" >>"$report/steps.txt"
step conformance-1-rank 300 "${one_rank[@]}" "${java[@]}" org.jccl.nccl.ConformanceRun
if ((ranks > 1)); then
    step "conformance-$ranks-ranks" "${SMOKE_CASES_SECONDS:-900}" "${several[@]}" org.jccl.nccl.ConformanceRun
fi
step host-cost 120 "${java[@]}" org.jccl.nccl.HostCostTest
step device-time 300 "${java[@]}" org.jccl.nccl.DeviceTime
step device-time-c 300 "$here/device_time"
if ((ranks > 1)); then
    step overlap 180 env JCCL_EXAMPLE_DEVICE=0 JCCL_TRACE_DIR="$report/recordings" "${several[@]}" \
        org.jccl.examples.Overlap --trace "$report/overlap.json"
    step trace 60 "${java[@]}" org.jccl.cli.Jccl trace "$report/recordings" -o "$report/trace.json"
fi
if [[ -n $python ]]; then
    step torch-host-cost 120 "$python" "$here/torch_host_cost.py"
    step torch-joint 180 "$here/rank.sh" "$python" "$here/torch_joint.py" "${java[@]}" org.jccl.nccl.JointRank
fi

"${java[@]}" org.jccl.nccl.SmokeReport "$report" "$gpu"
echo "report: $report/report.md"
! grep -qvE '^[^ ]+ (0|77) ' "$report/steps.txt"

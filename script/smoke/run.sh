#!/usr/bin/env bash
# Runs the hardware test of this folder; needs no Java and no network:  run.sh [REPORT_FOLDER]
# Writes report.md, report.json and the steps' logs; device/device.sh says what is special to the devices.
# SMOKE_SECONDS is the time for all steps (540; each step's limit grows with it), SMOKE_RANKS the number of ranks: by
# default one a device, at most 8, and two where there is one device that they can share. SMOKE_DEVICES and SMOKE_LARGEST
# (256M, of the bandwidth) are for tests of this test on mocks.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
report=${1:-$PWD/smoke-report}
mkdir -p "$report"
report=$(cd "$report" && pwd)
: >"$report/steps.txt"
rm -f "$report/bandwidth.csv"
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
python=$(command -v python3 || true)
seconds=${SMOKE_SECONDS:-540}
end=$((SECONDS + seconds))

# Names LIBRARY and BACKEND and the functions that are called below.
# shellcheck source=/dev/null
. "$here/device/device.sh"

find_libraries
devices=$(count_devices)
shared=no
ranks=${SMOKE_RANKS:-$((devices < 8 ? devices : 8))}
if ((devices <= 1)); then
    ranks=${SMOKE_RANKS:-$([[ $CAN_SHARE == yes ]] && echo 2 || echo 1)}
    shared=yes
fi

java=("$here/jre/bin/java" "-Dorg.bytedeco.javacpp.cachedir=$cache" "-Djna.tmpdir=$cache" -cp
    "$here/classes/binding:$here/classes/java-api:$here/lib/*")
several=("${java[@]}" org.jccl.cli.Jccl run --nproc-per-node "$ranks" --)
[[ $shared == yes && $CAN_SHARE == yes ]] && several+=("$here/device/shared_device.sh")
several+=("${java[@]}")

# A wedged driver stops any program, so each has a limit; what no time is left for is reported as not started.
step() { # NAME SECONDS COMMAND...
    local name=$1 limit=$(($2 * seconds / 540)) start=$SECONDS code=0
    shift 2
    echo "== $name"
    ((limit > end - SECONDS)) && limit=$((end - SECONDS))
    if ((limit < 5)); then
        code=76
        : >"$report/$name.log"
    else
        timeout --kill-after=10 "$limit" "$@" >"$report/$name.log" 2>&1 || code=$?
    fi
    echo "$name $code $((SECONDS - start))" >>"$report/steps.txt"
    tail -n 3 "$report/$name.log"
}

skip() { # NAME REASON
    echo "== $1"
    echo "$2" | tee "$report/$1.log"
    echo "$1 77 0" >>"$report/steps.txt"
}

environment() {
    cat "$here/VERSION"
    date -u
    uname -a
    "${java[0]}" -version
    describe_devices
    timeout --kill-after=5 120 "${java[@]}" org.jccl.testing.SmokeVersions "$BACKEND"
}

one_rank=(env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 "MASTER_PORT=${SMOKE_PORT:-29511}" LOCAL_RANK=0)

# Each of its programs has a time limit of its own.
start=$SECONDS
environment >"$report/environment.log" 2>&1
echo "environment $? $((SECONDS - start))" >>"$report/steps.txt"
step conformance-1-rank 180 "${one_rank[@]}" "${java[@]}" "$CONFORMANCE"
if ((ranks > 1)); then
    step "conformance-$ranks-ranks" 300 "${several[@]}" "$CONFORMANCE" \
        "$([[ $shared == yes ]] && echo shared || echo own)"
else
    skip conformance-2-ranks "one device, which several ranks can not share"
fi
if [[ $shared == yes ]]; then
    skip bandwidth "one device: there is no link to measure"
else
    step bandwidth 120 "${several[@]}" org.jccl.cli.Jccl bench all_reduce --backend "$BACKEND" \
        -b 4K -e "${SMOKE_LARGEST:-256M}" -f 8 --budget 0.5 --csv "$report/bandwidth.csv"
fi
step host-cost 60 "${java[@]}" "$HOST_COST"
more_steps

"${java[@]}" org.jccl.testing.SmokeReport "$report" "$LIBRARY" "$(name_devices)"
echo "report: $report/report.md"
! grep -qvE '^[^ ]+ (0|76|77) ' "$report/steps.txt"

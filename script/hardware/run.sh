#!/usr/bin/env bash
# Runs the hardware test of this folder; needs no Java and no network:  run.sh [REPORT_FOLDER]
# Writes report.md, report.json and the steps' logs; device/device.sh says what is special to the devices.
# SMOKE_SECONDS is the time for all steps (540; each step's limit grows with it), SMOKE_RANKS the number of ranks: by
# default one a device, at most 8, and two where there is one device that they can share. SMOKE_STEPS is a regular
# expression: only steps with such names run. SMOKE_DEVICES, SMOKE_LARGEST (256M, of the bandwidth) and SMOKE_PAUSE are for
# tests of this test on mocks.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(command -v python3 || true)
seconds=${SMOKE_SECONDS:-540}
end=$((SECONDS + seconds))

# Names LIBRARY, BACKEND, CONFORMANCE, HOST_COST, CAN_SHARE, NATIVE, PAUSE, and the functions that are called below.
# shellcheck source=/dev/null
. "$here/device/device.sh"
# shellcheck source=/dev/null
. "$here/host.sh"

platform=$(sed -n 's/.* for \(linux-[a-z0-9_]*\)$/\1/p' "$here/VERSION")
refusal=$(check_host "$platform" "$NATIVE") || { echo "smoke: $refusal" >&2 && exit 2; }
java=$(find_java "$here/jre/bin/java") || { echo "smoke: $java" >&2 && exit 2; }

report=${1:-$PWD/smoke-report}
mkdir -p "$report"
report=$(cd "$report" && pwd)
: >"$report/steps.txt"
rm -f "$report/bandwidth.csv"
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT

find_libraries
devices=$(count_devices)
shared=no
ranks=${SMOKE_RANKS:-$((devices < 8 ? devices : 8))}
if ((devices <= 1)); then
    ranks=${SMOKE_RANKS:-$([[ $CAN_SHARE == yes ]] && echo 2 || echo 1)}
    shared=yes
fi
echo "Java: $java"
echo "devices: $devices, ranks: $ranks"
warning=$(warn_of_memory "$ranks" "$LIBRARY")
[[ -z $warning ]] || echo "warning: $warning"

java=("$java" "-Dorg.bytedeco.javacpp.cachedir=$cache" "-Djna.tmpdir=$cache" -cp
    "$here/classes/binding:$here/classes/java-api:$here/lib/*")
several=("${java[@]}" org.jccl.cli.Jccl run --nproc-per-node "$ranks" --)
[[ $shared == yes && $CAN_SHARE == yes ]] && several+=("$here/device/shared_device.sh")
several+=("${java[@]}")
one_rank=(env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 "MASTER_PORT=${SMOKE_PORT:-29511}" LOCAL_RANK=0 "${java[@]}")
# Each rank on a device of its own.
all=("${several[@]}")
[[ $shared == yes ]] && all=("${one_rank[@]}")

is_wanted() { [[ $1 =~ ${SMOKE_STEPS:-.} ]]; }

# A wedged driver stops any program, so each has a limit; what no time is left for is reported as not started.
step() { # NAME SECONDS COMMAND...
    local name=$1 limit=$(($2 * seconds / 540)) start=$SECONDS log=$report/$1.log code
    shift 2
    is_wanted "$name" || return 0
    echo "== $name"
    [[ ! -s $report/steps.txt ]] || sleep "${SMOKE_PAUSE:-$PAUSE}"
    : >"$log"
    attempt "$limit" "$log" "$@"
    # Huawei's words for it: the last process's HCCP is not gone yet, wait 10 seconds.
    if ((code != 0)) && grep -q EJ0001 "$log"; then
        echo "smoke: EJ0001, the device was not ready; tried once more after a pause" | tee -a "$log"
        sleep "${SMOKE_PAUSE:-10}"
        attempt "$limit" "$log" "$@"
    fi
    echo "$name $code $((SECONDS - start))" >>"$report/steps.txt"
    tail -n 3 "$log"
}

attempt() { # SECONDS LOG COMMAND...
    local limit=$1 log=$2
    shift 2
    code=0
    ((limit > end - SECONDS)) && limit=$((end - SECONDS))
    if ((limit < 5)); then
        code=76
    else
        timeout --kill-after=10 "$limit" "$@" >>"$log" 2>&1 || code=$?
    fi
}

skip() { # NAME REASON
    is_wanted "$1" || return 0
    echo "== $1"
    echo "$2" | tee "$report/$1.log"
    echo "$1 77 0" >>"$report/steps.txt"
}

bench() { # NAME SECONDS OPTION...
    local name=$1 limit=$2
    shift 2
    step "$name" "$limit" "${all[@]}" org.jccl.cli.Jccl bench all_reduce --backend "$BACKEND" -b 4K "$@"
}

environment() {
    cat "$here/VERSION"
    date -u
    uname -a
    getconf GNU_LIBC_VERSION
    echo "Java: ${java[0]}"
    "${java[0]}" -version
    [[ -z $warning ]] || echo "warning: $warning"
    describe_devices
    timeout --kill-after=5 120 "${java[@]}" org.jccl.testing.SmokeVersions "$BACKEND"
}

# The shortest that shows that it works, before anything that takes long.
bench first-all-reduce 60 -e "${SMOKE_LARGEST:-64M}" -f 128 --budget 0.2
is_wanted first-all-reduce && grep -E '^(\[0\] )?#? *(size|[0-9]+ )' "$report/first-all-reduce.log"

# Each of its programs has a time limit of its own.
if is_wanted environment; then
    start=$SECONDS
    environment >"$report/environment.log" 2>&1
    echo "environment $? $((SECONDS - start))" >>"$report/steps.txt"
fi
step conformance-1-rank 180 "${one_rank[@]}" "$CONFORMANCE"
if ((ranks > 1)); then
    step "conformance-$ranks-ranks" 300 "${several[@]}" "$CONFORMANCE" \
        "$([[ $shared == yes ]] && echo shared || echo own)"
else
    skip conformance-2-ranks "one device, which several ranks cannot share"
fi
if [[ $shared == yes ]]; then
    skip bandwidth "one device: there is no link to measure"
else
    bench bandwidth 120 -e "${SMOKE_LARGEST:-256M}" -f 8 --budget 0.5 --csv "$report/bandwidth.csv"
fi
step host-cost 60 "${java[@]}" "$HOST_COST"
more_steps

"${java[@]}" org.jccl.testing.SmokeReport "$report" "$LIBRARY" "$(name_devices)"
echo "report: $report/report.md"
! grep -qvE '^[^ ]+ (0|76|77) ' "$report/steps.txt"

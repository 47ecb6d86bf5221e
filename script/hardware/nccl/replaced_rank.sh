#!/usr/bin/env bash
# Runs a job that trains while lost ranks are replaced, kills rank 1 in the middle, and expects the job to end well:
#   replaced_rank.sh JOB...
# Each rank is started by `replaced_rank.sh --rank COMMAND...`, which leaves its process id in PIDS.
set -euo pipefail
if [[ ${1-} == --rank ]]; then
    shift
    echo $$ >"$PIDS/$RANK"
    exec "$@" "cuda:${JCCL_EXAMPLE_DEVICE:-$LOCAL_RANK}"
fi

PIDS=$(mktemp -d)
export PIDS
trap 'rm -rf "$PIDS"' EXIT
"$@" > >(tee "$PIDS/log") 2>&1 &
job=$!
while kill -0 "$job" 2>/dev/null && ! grep -qs 'step 500' "$PIDS/log"; do sleep 0.1; done
lost=$(cat "$PIDS/1")
killed=$(date +%s%N)
kill -KILL "$lost"
while kill -0 "$job" 2>/dev/null && ! grep -q 'step 1000' "$PIDS/log"; do sleep 0.1; done
again=$(date +%s%N)
code=0
wait "$job" || code=$?
echo "500 steps, in the middle of which rank 1 was killed and replaced: $(((again - killed) / 1000000)) ms"
if [[ $(cat "$PIDS/1") == "$lost" ]]; then
    echo "rank 1 was not started again"
    exit 1
fi
exit "$code"

#!/usr/bin/env bash
# One rank of several on one GPU: NCCL takes ranks with different host ids for ranks on different hosts,
# so that they may share a GPU, and connects them by sockets.
set -euo pipefail
export NCCL_HOSTID=rank${RANK:-0} NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1
export NCCL_MNNVL_ENABLE=0 NCCL_RAS_ENABLE=0 NCCL_MAX_CTAS=2 NCCL_MULTI_RANK_GPU_ENABLE=1
exec "$@"

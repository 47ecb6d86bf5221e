#!/usr/bin/env bash
# Tests what the hardware test asks of its host, with the host's programs replaced:  script/hardware/test.sh
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# Puts a program in front of the host's; its text is the rest of a shell script.
program() { # NAME TEXT
    mkdir -p "$work/bin"
    printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# What bash prints for a text, with device.sh or host.sh read, and the programs in front.
ask() { # FILE VARIABLE=VALUE... TEXT
    local file=$1 text=${*: -1}
    shift
    env -i "PATH=$work/bin:/usr/bin:/bin" "SMOKE_DEV=$work/dev" "${@:1:$#-1}" bash -uo pipefail -c ". '$here/$file'; $text" 2>&1
}

expect() { # WHAT FOUND PATTERN
    # shellcheck disable=SC2053
    [[ $2 == $3 ]] && return
    echo "FAILED: $1: found '$2', expected '$3'"
    status=1
}

mkdir -p "$work/dev"
count() { ask "$1/device.sh" "${@:2}" count_devices; }

expect "no GPU" "$(count nccl)" 0
touch "$work"/dev/nvidia{0,1,2,ctl,-uvm}
expect "GPUs without nvidia-smi" "$(count nccl)" 3
program nvidia-smi 'for gpu in 0 1 2 3; do echo "GPU $gpu: NVIDIA (UUID: GPU-$gpu)"; echo "  MIG 1g.10gb"; done'
expect "GPUs" "$(count nccl)" 4
expect "visible GPUs" "$(count nccl CUDA_VISIBLE_DEVICES=0,2)" 2
expect "no visible GPU" "$(count nccl CUDA_VISIBLE_DEVICES=)" 0
expect "GPUs up to the first that is none" "$(count nccl CUDA_VISIBLE_DEVICES=1,-1,2)" 1
expect "a GPU that is not there" "$(count nccl CUDA_VISIBLE_DEVICES=7)" 0
expect "GPUs by their names" "$(count nccl CUDA_VISIBLE_DEVICES=GPU-a,MIG-b)" 2

expect "no NPU" "$(count hccl)" 0
touch "$work"/dev/davinci{0,1,2,3,_manager}
expect "NPUs without npu-smi" "$(count hccl)" 4
expect "visible NPUs" "$(count hccl ASCEND_RT_VISIBLE_DEVICES=1,3)" 2
program npu-smi 'for npu in 0 1 2 3 4 5 6 7; do echo "$npu 0 0 Ascend 910B3"; echo "$npu 1 - Mcu"; done'
expect "NPUs of a container" "$(count hccl)" 4

mkdir -p "$work/lib" "$work/runtime" && touch "$work/lib/cuda-13.3-9.25-1.5.14-linux-x86_64.jar"
obstacle() { ask nccl/device.sh "here=$work; presets_obstacle $work/runtime"; }
expect "no runtime for the presets" "$(obstacle)" "the presets are for CUDA 13, and its libcudart.so.13 is not here"
touch "$work/runtime/libcudart.so.13"
expect "a runtime and an unknown driver" "$(obstacle)" ""
program nvidia-smi 'echo "| Driver Version: 535.1  CUDA Version: 12.2 |"'
expect "an old driver" "$(obstacle)" "the presets are for CUDA 13, and the driver is for CUDA 12"
program nvidia-smi 'echo "| Driver Version: 580.1  CUDA Version: 13.0 |"'
expect "a new driver" "$(obstacle)" ""

program good-java 'echo "openjdk version \"21.0.2\"" >&2'
program old-java 'echo "java version \"1.8.0_1\"" >&2'
program foreign-java 'exit 126'
expect "the pack's Java" "$(ask host.sh "find_java $work/bin/good-java")" "$work/bin/good-java"
mkdir -p "$work/home/bin" && cp "$work/bin/good-java" "$work/home/bin/java"
expect "JAVA_HOME's Java" "$(ask host.sh "JAVA_HOME=$work/home" "find_java $work/bin/foreign-java")" "$work/home/bin/java"
cp "$work/bin/old-java" "$work/bin/java"
expect "no Java" "$(ask host.sh "find_java $work/bin/foreign-java")" "the pack's Java does not run on linux-*: install one"
cp "$work/bin/good-java" "$work/bin/java"
expect "the PATH's Java" "$(ask host.sh "find_java $work/bin/foreign-java")" "$work/bin/java"

program uname 'echo aarch64'
expect "a pack for another platform" "$(ask host.sh 'check_host linux-x86_64 yes')" \
    "this pack is for linux-x86_64 and this is linux-arm64; *--platform linux-arm64"
expect "a pack without native code" "$(ask host.sh 'check_host linux-x86_64 no && echo good')" good
program getconf 'echo glibc 2.28'
expect "an old glibc" "$(ask host.sh 'check_host linux-arm64 yes')" "this host has glibc 2.28; * 2.31 or later"
program getconf 'exit 1'
expect "no glibc" "$(ask host.sh 'check_host linux-arm64 yes')" "this host has glibc of no version; *"
program getconf 'echo glibc 2.100'
expect "a new glibc" "$(ask host.sh 'check_host linux-arm64 yes && echo good')" good

program df 'echo Filesystem; echo shm 65536 0 65536 0% /dev/shm'
expect "a small /dev/shm" "$(ask host.sh 'warn_of_memory 8 NCCL')" "/dev/shm has 64 MiB left, *NCCL*--shm-size=1g*"
expect "one rank" "$(ask host.sh 'warn_of_memory 1 NCCL')" ""
program df 'echo Filesystem; echo shm 8000000 0 8000000 0% /dev/shm'
expect "a large /dev/shm" "$(ask host.sh 'warn_of_memory 8 NCCL')" ""

exit "$status"

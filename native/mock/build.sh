#!/usr/bin/env bash
# Builds the mock vendor libraries with g++ alone:  build.sh OUT_DIR
#   OUT_DIR/libcuda.so.1  OUT_DIR/libcudart.so.13  OUT_DIR/libnccl.so.2
#   OUT_DIR/nccl-VERSION/libnccl.so.2  older ones, without the functions that came later
# CHECK=1 compiles the fronts against the real headers too: CUDA_INCLUDE and NCCL_INCLUDE say where they are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: build.sh OUT_DIR}
mkdir -p "$out/objects"
out=$(cd "$out" && pwd)
cd "$here"

flags=(-std=c++17 -O2 -g1 -fPIC -pthread -fwrapv -fvisibility=hidden -fvisibility-inlines-hidden -Wall -Wextra -Werror)
link=(-shared -pthread -static-libstdc++ -static-libgcc -Wl,--no-undefined -Wl,-z,nodelete)

if [[ ${CHECK:-0} == 1 ]]; then
    include=(-isystem "${CUDA_INCLUDE:-/usr/local/cuda/include}")
    for source in front/cuda/*.cc; do g++ "${flags[@]}" "${include[@]}" -DMOCK_CHECK -fsyntax-only "$source"; done
    if [[ -n ${NCCL_INCLUDE:-} ]]; then
        include+=(-isystem "$NCCL_INCLUDE")
        for source in front/nccl/*.cc; do
            g++ "${flags[@]}" "${include[@]}" -DMOCK_CHECK -DMOCK_NCCL_BUILT_VERSION=0 -fsyntax-only "$source"
        done
    fi
fi

# An object is made again when its source, any header or this script is newer.
newest_header=$(find . -name '*.h' -o -name build.sh | xargs ls -t | head -1)
compile() { # SOURCE OBJECT [FLAG...]
    local source=$1 object=$2
    shift 2
    [[ $object -nt $source && $object -nt $newest_header ]] && return
    g++ "${flags[@]}" "$@" -c "$source" -o "$object"
}

object_of() { echo "$out/objects/$(echo "${1%.cc}" | tr / -).o"; }

runtime=(engine/runtime/*.cc front/cuda/device.cc front/cuda/memory.cc front/cuda/stream.cc front/cuda/graph.cc)
communicators=(engine/comm/*.cc front/nccl/front.cc front/nccl/comm.cc front/nccl/collective.cc front/nccl/memory.cc)

limit=$(nproc)
jobs=()
for source in "${runtime[@]}" "${communicators[@]}" front/cuda/driver.cc; do
    compile "$source" "$(object_of "$source")" &
    jobs+=($!)
    if ((${#jobs[@]} >= limit)); then
        wait "${jobs[0]}"
        jobs=("${jobs[@]:1}")
    fi
done
for job in "${jobs[@]}"; do wait "$job"; done

# LIBRARY SONAME VERSION_SCRIPT_TEXT INPUT...: links when an input is newer.
link_library() {
    local library=$1 soname=$2 script=$3 input stale=0
    shift 3
    for input in "$@" build.sh; do [[ $library -nt $input || $input == -* ]] || stale=1; done
    ((stale)) || return 0
    mkdir -p "$(dirname "$library")"
    local map=$out/objects/$soname.map
    printf '%s\n' "$script" > "$map"
    g++ -Wl,-soname,"$soname" -Wl,--version-script="$map" -o "$library.new" "$@" "${link[@]}"
    mv "$library.new" "$library"
}

objects() { for source in "$@"; do object_of "$source"; done; }

# The real runtime library's users ask for this version node.
link_library "$out/libcuda.so.1" libcuda.so.1 '{ global: cu*; local: *; };' "$(object_of front/cuda/driver.cc)"
mapfile -t inputs < <(objects "${runtime[@]}")
link_library "$out/libcudart.so.13" libcudart.so.13 'libcudart.so.13 { global: cuda*; mock*; local: *; };' "${inputs[@]}"

mapfile -t inputs < <(objects "${communicators[@]}")
nccl() { # DIRECTORY VERSION_CODE FUNCTION_THAT_CAME_LATER...
    local directory=$1 version=$2 hidden=
    shift 2
    (($#)) && hidden=$(printf ' %s;' "$@")
    local object="$out/objects/version-$version.o"
    compile front/nccl/version.cc "$object" "-DMOCK_NCCL_BUILT_VERSION=$version"
    link_library "$directory/libnccl.so.2" libnccl.so.2 "{ global: nccl*; local:$hidden *; };" \
        "$object" "${inputs[@]}" "$out/libcudart.so.13"
}
nccl "$out" 22903
nccl "$out/nccl-2.28.9" 22809 ncclCommGrow ncclCommGetUniqueId
nccl "$out/nccl-2.27.7" 22707 ncclCommGrow ncclCommGetUniqueId ncclCommRevoke ncclAlltoAll ncclGather ncclScatter

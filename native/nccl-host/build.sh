#!/usr/bin/env bash
# Builds NVIDIA's NCCL without nvcc, with the kernels of emulator/ in the place of its own:  build.sh SOURCE OUT_DIR
#   SOURCE: a folder of NCCL's source code;  OUT_DIR/{libnccl.so.2,libnvidia-ml.so.1,include/nccl.h}
# Needs g++, python3 and the headers of CUDA 13, which are looked for in CUDA_HOME and /usr/local/cuda. Does nothing when up
# to date. SANITIZE=address builds it for AddressSanitizer; it needs an OUT_DIR of its own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "${1:?usage: build.sh SOURCE OUT_DIR}" && pwd)
mkdir -p "${2:?usage: build.sh SOURCE OUT_DIR}/objects"
out=$(cd "$2" && pwd)

fail() {
    echo "nccl-host: $*" >&2
    exit 1
}

cuda=
for home in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda; do
    header=$home/include/cuda_runtime_api.h
    if [[ -e $header ]] && grep -q '^#define CUDART_VERSION *13' "$header"; then
        cuda=$home/include
        break
    fi
done
[[ -n $cuda ]] || fail "the headers of CUDA 13 are neither below CUDA_HOME (${CUDA_HOME-not set}) nor in /usr/local/cuda"

version() { sed -n "s/^NCCL_$1 *:= *\([0-9]*\) *$/\1/p" "$source/makefiles/version.mk"; }
major=$(version MAJOR) minor=$(version MINOR) patch=$(version PATCH)
code=$((major * 10000 + minor * 100 + patch))

# As NCCL's own makefiles call the compiler, but without warnings about code that is not ours.
flags=(-std=c++17 -O1 -g1 -fPIC -pthread -fvisibility=hidden ${SANITIZE:+-fsanitize=$SANITIZE}
    -DPROFAPI -DNCCL_OS_LINUX -DNCCL_GIN_PROXY_ENABLE=1 -DDOCA_VERBS_USE_CUDA_WRAPPER -DDOCA_VERBS_USE_NET_WRAPPER
    "-I$source/src" "-I$out/include" "-I$source/src/include" "-I$source/src/include/plugin" "-I$out/generated"
    "-isystem$source/src/transport/net_ib/gdaki/doca-gpunetio/include" "-isystem$cuda" "-isystem$cuda/cccl")
theirs=("${flags[@]}" -w)
ours=("${flags[@]}" -Wall -Wextra -Wno-unused-function -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers)

# What is there was made by this text with these headers.
made_by=$({ cat "${BASH_SOURCE[0]}" && sha256sum "$cuda/cuda.h" && echo "$source $code ${flags[*]}"; } | sha256sum)
if [[ $(cat "$out/made-by" 2>/dev/null) != "$made_by" ]]; then
    rm -rf "$out"
    mkdir -p "$out"/{objects,include,generated}
    sed -e "s/\${nccl:Major}/$major/g" -e "s/\${nccl:Minor}/$minor/g" -e "s/\${nccl:Patch}/$patch/g" \
        -e "s/\${nccl:Suffix}//g" -e "s/\${nccl:Version}/$code/g" "$source/src/nccl.h.in" >"$out/include/nccl.h"
    printf '#define NCCL_GIT_BRANCH ""\n#define NCCL_GIT_COMMIT_HASH ""\n' >"$out/include/nccl_git_version.h"
    python3 -B "$source/src/device/generate.py" "$out/generated/device" >/dev/null
    # The kernels that the host code knows, and the functions in them by number.
    table=$out/generated/device/host_table.cc
    {
        echo '#include "device.h"'
        echo '#include <cstdlib>'
        sed -n 's/^__global__ void \(ncclDevKernel_[A-Za-z0-9_]*\)(ncclDevKernelArgs4K const);$/void \1(ncclDevKernelArgs4K const) { abort(); }/p' "$table"
    } >"$out/generated/kernels.cc"
    sed -n 's/^\/\* *[0-9]*\*\/ ncclDevFunc_\([A-Za-z0-9_]*\),$/"\1",/p' "$out/generated/device/device_table.cu" \
        >"$out/generated/function_names.inc"
    expected=$(sed -n 's/^extern int const ncclDevFuncIdCount = \([0-9]*\);$/\1/p' "$table")
    [[ $(wc -l <"$out/generated/function_names.inc") == "$expected" ]] ||
        fail "the tables of NCCL $major.$minor.$patch are not of the form that is known"
    echo "$made_by" >"$out/made-by"
fi

compile() { # LIST_OF_FLAGS SOURCE OBJECT
    local -n list=$1
    "${CXX:-g++}" "${list[@]}" -MMD -MF "$3.d" -c "$2" -o "$3.new"
    mv "$3.new" "$3"
}

# Whether an object is newer than all that its compiler said it read.
is_current() { # OBJECT
    local read
    [[ -e $1 && -e $1.d ]] || return 1
    for read in $(sed 's/^[^:]*://; s/\\$//' "$1.d"); do
        [[ $read != "$here"/* || $1 -nt $read ]] || return 1
    done
}

objects=() jobs=()
start() { # LIST_OF_FLAGS SOURCE NAME
    local object=$out/objects/$(echo "$3" | tr / -).o
    objects+=("$object")
    is_current "$object" && return
    compile "$1" "$2" "$object" &
    jobs+=($!)
    if ((${#jobs[@]} >= $(nproc))); then
        wait "${jobs[0]}"
        jobs=("${jobs[@]:1}")
    fi
}

# Left out: what other systems need, programs, and kernels that send over networks without the host.
while IFS= read -r file; do
    start theirs "$source/src/$file" "nccl/${file%.cc}"
done < <(cd "$source/src" && find . -name '*.cc' -printf '%P\n' |
    grep -vE '^device/|^os/windows.cc$|^ras/client.cc$|^enhcompat.cc$|/gdaki/' | sort)
start theirs "$out/generated/device/host_table.cc" host_table
start theirs "$out/generated/kernels.cc" kernels
for file in "$here"/emulator/*.cc; do start ours "$file" "emulator/$(basename "$file" .cc)"; done
for job in "${jobs[@]}"; do wait "$job"; done

for object in "${objects[@]}" "$here/nvml.cc"; do
    [[ $out/libnccl.so.2 -nt $object ]] || stale=1
done
[[ -n ${stale-} ]] || exit 0

# Any libcudart.so.13 can be behind it; this one only names it.
names() { "${CXX:-g++}" -shared -nostdlib -o "$out/objects/$1" -Wl,-soname,"$1" -x c++ /dev/null; }
link=(-shared -pthread -static-libstdc++ -static-libgcc -Wl,-z,nodelete ${SANITIZE:+-fsanitize=$SANITIZE})
names libcudart.so.13
"${CXX:-g++}" -O1 -g1 -std=c++17 -fPIC -Wall -Wextra -Werror -fvisibility=hidden -Wl,-soname,libnvidia-ml.so.1 \
    "$here/nvml.cc" -o "$out/libnvidia-ml.so.1.new" "${link[@]}"
# NCCL opens the other library by its name.
"${CXX:-g++}" -Wl,-soname,libnccl.so.2 -Wl,--version-script="$source/src/libnccl.map" -Wl,-rpath,'$ORIGIN' \
    -Wl,--wrap=recv,--wrap=accept -o "$out/libnccl.so.2.new" "${objects[@]}" -Wl,--no-as-needed "$out/objects/libcudart.so.13" -ldl -lrt "${link[@]}"
mv "$out/libnvidia-ml.so.1.new" "$out/libnvidia-ml.so.1"
mv "$out/libnccl.so.2.new" "$out/libnccl.so.2"

#!/usr/bin/env bash
# Builds the mock vendor libraries with g++ alone:  build.sh OUT_DIR [nccl] [hccl] [sccl]     (all of them when none is named)
#   nccl: OUT_DIR/{libcuda.so.1,libcudart.so.13,libnccl.so.2}, OUT_DIR/nccl-VERSION/libnccl.so.2,
#         OUT_DIR/cuda12/{libcudart.so.12,libnccl.so.2}
#   hccl: OUT_DIR/{libascend_trace.so,libacl_rt.so,libascendcl.so,libhcomm.so,libhccl.so,libopapi.so,abi-hccl}, OUT_DIR/cann-VERSION/
#   sccl: OUT_DIR/{libtpudnn.so,libtpurt.so,libsccl.so,abi-sccl}, OUT_DIR/torch_tpu/, OUT_DIR/sccl-2024-11/
# The directories with a version hold older libraries, without the functions that came later.
# CXX names another compiler, for instance a cross compiler; it needs an OUT_DIR of its own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: build.sh OUT_DIR [nccl] [hccl] [sccl]}
shift
(($#)) || set -- nccl hccl sccl
mkdir -p "$out/objects"
out=$(cd "$out" && pwd)
cd "$here"

cxx=${CXX:-g++}
flags=(-std=c++17 -O1 -g1 -fPIC -pthread -fwrapv -fvisibility=hidden -fvisibility-inlines-hidden -Wall -Wextra -Werror)
link=(-shared -pthread -static-libstdc++ -static-libgcc -Wl,--no-undefined -Wl,-z,nodelete)

# Whether a file was made after this script and all that its compiler said it read.
is_current() { # FILE LIST_OF_READ_FILES
    local read
    [[ -e $1 && -e $2 && $1 -nt build.sh ]] || return 1
    for read in $(sed 's/^[^:]*://; s/\\$//' "$2"); do [[ $1 -nt $read ]] || return 1; done
}

compile() { # SOURCE OBJECT [FLAG...]
    local source=$1 object=$2
    shift 2
    is_current "$object" "$object.d" || "$cxx" "${flags[@]}" "$@" -MMD -MF "$object.d" -c "$source" -o "$object"
}

object_of() { echo "$out/objects/$(echo "${1%.cc}" | tr / -).o"; }

limit=$(nproc)
compile_all() { # SOURCE...
    local jobs=() source job
    for source in "$@"; do
        compile "$source" "$(object_of "$source")" &
        jobs+=($!)
        if ((${#jobs[@]} >= limit)); then
            wait "${jobs[0]}"
            jobs=("${jobs[@]:1}")
        fi
    done
    for job in "${jobs[@]}"; do wait "$job"; done
}

# LIBRARY SONAME VERSION_SCRIPT_TEXT INPUT...: links when an input is newer.
link_library() {
    local library=$1 soname=$2 script=$3 input stale=0
    shift 3
    for input in "$@" build.sh; do [[ $library -nt $input || $input == -* ]] || stale=1; done
    ((stale)) || return 0
    mkdir -p "$(dirname "$library")"
    local map=$out/objects/$soname.map
    printf '%s\n' "$script" > "$map"
    "$cxx" -Wl,-soname,"$soname" -Wl,--version-script="$map" -o "$library.new" "$@" "${link[@]}"
    mv "$library.new" "$library"
}

link_program() { # PROGRAM SOURCE
    local read=$out/objects/$(basename "$1").d
    is_current "$1" "$read" || "$cxx" "${flags[@]}" -MMD -MF "$read" "$2" -o "$1" -static-libstdc++ -static-libgcc
}

objects() { for source in "$@"; do object_of "$source"; done; }

# "name; name;" for a version script.
names() { (($#)) && printf ' %s;' "$@" || true; }

engine_runtime=(engine/runtime/*.cc)
engine_comm=(engine/comm/*.cc)
compile_all "${engine_runtime[@]}" "${engine_comm[@]}"

build_nccl() {
    local runtime=("${engine_runtime[@]}" front/cuda/{device,memory,stream,graph,kernel,entry}.cc) inputs
    local communicators=("${engine_comm[@]}" front/nccl/{front,comm,collective}.cc)
    compile_all front/cuda/{device,memory,stream,graph,kernel,entry,driver}.cc front/nccl/{front,comm,collective}.cc
    link_library "$out/libcuda.so.1" libcuda.so.1 '{ local: *; };' "$(object_of front/cuda/driver.cc)"
    mapfile -t inputs < <(objects "${runtime[@]}")
    cudart "$out" 13 13000
    cudart "$out/cuda12" 12 12090
    mapfile -t inputs < <(objects "${communicators[@]}")
    nccl "$out" "$out/libcudart.so.13" 23007
    nccl "$out/nccl-2.27.7" "$out/libcudart.so.13" 22707 ncclCommRevoke ncclAlltoAll ncclGather ncclScatter
    nccl "$out/cuda12" "$out/cuda12/libcudart.so.12" 23007
}

cudart() { # DIRECTORY MAJOR_VERSION VERSION_CODE
    local object=$out/objects/cudart-$3.o name=libcudart.so.$2
    compile front/cuda/version.cc "$object" "-DMOCK_CUDART_VERSION=$3"
    # The real runtime library's users ask for this version node.
    link_library "$1/$name" "$name" "$name { global: cuda*; mockCuda*; mockKernel*; local: *; };" "$object" "${inputs[@]}"
}

nccl() { # DIRECTORY CUDART VERSION_CODE FUNCTION_THAT_CAME_LATER...
    local directory=$1 cudart=$2 version=$3
    shift 3
    local object="$out/objects/version-$version.o"
    compile front/nccl/version.cc "$object" "-DMOCK_NCCL_BUILT_VERSION=$version"
    link_library "$directory/libnccl.so.2" libnccl.so.2 "{ global: nccl*; local:$(names "$@") *; };" \
        "$object" "${inputs[@]}" "$cudart"
}

# What each release of CANN does not have yet; each list adds to the one before.
acl_after_8_3=(aclFinalizeReference aclrtGetPhyDevIdByLogicDevId aclrtSynchronizeEventWithTimeout)
acl_after_8_0=("${acl_after_8_3[@]}" aclsysGetCANNVersion)
hccl_after_8_0=(HcclAllGatherV HcclReduceScatterV HcclAlltoAllVC)

build_hccl() {
    local acl=(front/acl/{device,memory,stream,event,system}.cc)
    local hccl=(front/hccl/{front,config,rootinfo,comm,support,collective,clusterinfo,ranktable,json}.cc)
    local operators=(front/aclnn/operators.cc engine/comm/reduce.cc)
    # As installed libraries do after set_env.sh, these find one another.
    local beside=('-Wl,-rpath,$ORIGIN:$ORIGIN/..' -Wl,--no-as-needed)
    compile_all "${acl[@]}" "${hccl[@]}" front/acl/trace.cc front/aclnn/operators.cc
    link_library "$out/libascend_trace.so" libascend_trace.so '{ local: *; };' "$(object_of front/acl/trace.cc)"
    compile front/acl/release.cc "$out/objects/cann-92.o" -DMOCK_CANN=92
    # The newest release: the runtime has a library of its own behind the old name, and management and operators part.
    # All code is in libacl_rt and libhcomm; the other two are names that lead there.
    link_library "$out/libacl_rt.so" libacl_rt.so '{ global: acl*; mockAcl*; local: *; };' "$out/objects/cann-92.o" \
        $(objects "${engine_runtime[@]}" "${acl[@]}") "${beside[@]}" "$out/libascend_trace.so"
    link_library "$out/libascendcl.so" libascendcl.so '{ local: *; };' "${beside[@]}" "$out/libacl_rt.so"
    link_library "$out/libhcomm.so" libhcomm.so '{ global: Hccl*; mockHccl*; local: *; };' "$out/objects/cann-92.o" \
        $(objects "${engine_comm[@]}" "${hccl[@]}") "${beside[@]}" "$out/libacl_rt.so"
    link_library "$out/libhccl.so" libhccl.so '{ local: *; };' "${beside[@]}" "$out/libhcomm.so"
    link_library "$out/libopapi.so" libopapi.so '{ global: acl*; local: *; };' \
        $(objects "${operators[@]}") "${beside[@]}" "$out/libacl_rt.so"
    cann 8.3 83 "$(names "${acl_after_8_3[@]}")" ""
    cann 8.1 81 "$(names "${acl_after_8_3[@]}")" ""
    cann 8.0 80 "$(names "${acl_after_8_0[@]}")" "$(names "${hccl_after_8_0[@]}")"
    link_program "$out/abi-hccl" front/hccl/abi.cc
    # What a simulator of the newest release has, see docs/hardware/hccl-vm.md: no texts, no references, no operators.
    local simulated=$out/cann-simulator
    link_library "$simulated/libascendcl.so" libascendcl.so \
        '{ global: acl*; mockAcl*; local: aclFinalizeReference; aclGetRecentErrMsg; *; };' "$out/objects/cann-92.o" \
        $(objects "${engine_runtime[@]}" "${acl[@]}") "${beside[@]}" "$out/libascend_trace.so"
    link_library "$simulated/libhccl.so" libhccl.so '{ global: Hccl*; mockHccl*; local: *; };' "$out/objects/cann-92.o" \
        $(objects "${engine_comm[@]}" "${hccl[@]}") "${beside[@]}" "$simulated/libascendcl.so"
}

cann() { # VERSION NUMBER HIDDEN_OF_ACL HIDDEN_OF_HCCL
    local directory=$out/cann-$1 object=$out/objects/cann-$2.o
    compile front/acl/release.cc "$object" "-DMOCK_CANN=$2"
    link_library "$directory/libascendcl.so" libascendcl.so "{ global: acl*; mockAcl*; local:$3 *; };" "$object" \
        $(objects "${engine_runtime[@]}" "${acl[@]}") "${beside[@]}" "$out/libascend_trace.so"
    link_library "$directory/libhccl.so" libhccl.so "{ global: Hccl*; mockHccl*; local:$4 *; };" "$object" \
        $(objects "${engine_comm[@]}" "${hccl[@]}") "${beside[@]}" "$directory/libascendcl.so"
    link_library "$directory/libopapi.so" libopapi.so '{ global: acl*; local: *; };' \
        $(objects "${operators[@]}") "${beside[@]}" "$directory/libascendcl.so"
}

build_sccl() {
    local tpu=(front/tpu/{device,memory,stream}.cc) tpudnn=(front/tpudnn/{handle,topology,uuid,collective}.cc)
    compile_all "${tpu[@]}" "${tpudnn[@]}" front/sccl/front.cc
    link_program "$out/abi-sccl" front/sccl/abi.cc
    local chips=(sg2260 sg2260e bm1684x) chip
    for chip in "${chips[@]}"; do
        compile front/tpu/chip.cc "$out/objects/chip-$chip.o" "-DMOCK_TPU_CHIP=\"$chip\""
    done
    tpu "$out" "" ""
    # 2024: some builds also had neither of the two messages.
    tpu "$out/sccl-2024-11" "$(names tpudnnSync)" \
        "$(names scclDestoryHandle scclSend scclRecv)"
    # A wheel has the chip in the names of files, but not in sonames: libsccl finds libtpudnn.so only when one of the
    # libtpudnn.CHIP.so was loaded before it.
    local wheel=$out/torch_tpu/lib
    mkdir -p "$wheel"
    cp -u "$out/libsccl.so" "$wheel/libsccl.so"
    "$cxx" -shared -nostdlib -o "$out/objects/libtorch.so" -Wl,-soname,libtorch-that-nobody-has.so -x c++ /dev/null
    for chip in "${chips[@]}"; do
        cp -u "$out/libtpudnn.so" "$wheel/libtpudnn.$chip.so"
        tpurt "$wheel/libtpurt.$chip.so" "$chip"
        # The plugin for PyTorch, which carries the kernels and cannot be loaded where there is no PyTorch.
        "$cxx" -shared -nostdlib -o "$wheel/libtorch_tpu.$chip.so" "-DMOCK_TPU_CHIP=\"$chip\"" \
            front/torch_tpu/kernels.S -Wl,--no-as-needed "$out/objects/libtorch.so"
    done
}

tpurt() { # FILE CHIP
    link_library "$1" libtpurt.so '{ global: tpu*; mockTpuRuntime; local: *; };' \
        $(objects "${engine_runtime[@]}" "${tpu[@]}") "$out/objects/chip-$2.o"
}

tpu() { # DIRECTORY HIDDEN_OF_TPUDNN HIDDEN_OF_SCCL
    tpurt "$1/libtpurt.so" sg2260
    link_library "$1/libtpudnn.so" libtpudnn.so "{ global: tpudnn*; local:$2 *; };" \
        $(objects "${engine_comm[@]}" "${tpudnn[@]}") -ldl
    link_library "$1/libsccl.so" libsccl.so "{ global: sccl*; local:$3 *; };" "$(object_of front/sccl/front.cc)" \
        "$1/libtpudnn.so"
}

for front in "$@"; do "build_$front"; done

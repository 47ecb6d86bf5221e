# NVIDIA GPUs with NCCL, for run.sh. JCCL_NCCL_DRIVER, JCCL_NCCL_CUDART and JCCL_NCCL_LIBRARY name the libraries where they
# are not found.
LIBRARY=NCCL
BACKEND=nccl
CONFORMANCE=org.jccl.nccl.SmokeConformance
HOST_COST=org.jccl.nccl.HostCostTest
NATIVE=yes
PAUSE=0
CAN_SHARE=yes # by sockets, as if the ranks were on different hosts

# The binding finds its libraries on its own.
find_libraries() { :; }

# The program in C has no search of its own: PyTorch brings both libraries, where the dynamic linker does not know of them.
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

device_time_in_c() {
    local nccl=${JCCL_NCCL_LIBRARY-} cudart=${JCCL_NCCL_CUDART-}
    [[ -n $nccl ]] || nccl=$(pip_library 'nccl/lib/libnccl.so.2')
    [[ -n $cudart ]] || cudart=$(pip_library 'cu13/lib/libcudart.so.13' 'cuda_runtime/lib/libcudart.so.12')
    step device-time-c 90 env ${nccl:+"JCCL_NCCL_LIBRARY=$nccl"} ${cudart:+"JCCL_NCCL_CUDART=$cudart"} \
        "$here/device/device_time"
}

smi() { command -v nvidia-smi >/dev/null && timeout --kill-after=5 60 nvidia-smi "$@" 2>/dev/null; }

# Those that a process sees: CUDA_VISIBLE_DEVICES ends at the first entry that is no device. Without nvidia-smi, which some
# containers lack, by device files.
count_devices() {
    local all entry count=0
    if [[ -n ${SMOKE_DEVICES-} ]]; then
        echo "$SMOKE_DEVICES"
        return
    fi
    all=$(smi -L | grep -c '^GPU')
    ((all > 0)) || all=$(find "${SMOKE_DEV:-/dev}" -maxdepth 1 -name 'nvidia[0-9]*' | wc -l)
    if [[ -z ${CUDA_VISIBLE_DEVICES+set} ]]; then
        echo "$all"
        return
    fi
    for entry in ${CUDA_VISIBLE_DEVICES//,/ }; do
        [[ $entry =~ ^(GPU|MIG)- ]] || { [[ $entry =~ ^[0-9]+$ ]] && ((10#$entry < all)); } || break
        count=$((count + 1))
    done
    echo "$count"
}

# How the first two GPUs are joined, by the words of nvidia-smi's matrix.
link() {
    case $(smi topo -m | awk '$1 == "GPU0" { print $3; exit }') in
        NV*) echo NVLink ;;
        PIX | PXB | PHB | NODE | SYS) echo PCIe ;;
        *) echo 'link unknown' ;;
    esac
}

name_devices() {
    local names
    names=$(smi --query-gpu=name --format=csv,noheader | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1 x /' | paste -sd '+')
    if [[ -z $names ]]; then
        echo none
    else
        echo "$names$( (($(count_devices) > 1)) && echo ", $(link)")"
    fi
}

describe_devices() {
    echo "driver:  ${JCCL_NCCL_DRIVER:-searched for}"
    echo "runtime: ${JCCL_NCCL_CUDART:-searched for}"
    echo "NCCL:    ${JCCL_NCCL_LIBRARY:-searched for}"
    smi || echo "no nvidia-smi: there is no GPU here"
    smi topo -m
    ldconfig -p 2>/dev/null | grep -E 'libcuda\.so|libcudart|libnccl'
    [[ -n $python ]] && timeout --kill-after=5 120 "$python" -c 'import torch; print("torch", torch.__version__, torch.version.cuda)'
}

# The folders of the libraries that PyTorch brings, with colons between.
pip_folders() {
    [[ -n $python ]] && "$python" - <<'PYTHON'
import glob, sys
print(":".join(sorted({lib for folder in sys.path for lib in glob.glob(f"{folder}/nvidia/*/lib")})))
PYTHON
}

# PyTorch's JavaCPP presets in the folder SMOKE_PRESETS, which script/hardware/presets/pack packs. SMOKE_PRESETS_DEVICE=cpu
# tries these steps where there is no device.
presets_steps() { # COMMAND_OF_A_RANK...
    local where=${SMOKE_PRESETS_DEVICE:-cuda} check
    # Each rank names its device itself, as the examples do.
    check='exec "$@" "cuda:${JCCL_EXAMPLE_DEVICE:-$LOCAL_RANK}" nccl'
    [[ $where == cuda ]] || check="exec \"\$@\" $where gloo"
    local program=("${java[0]}" -Xmx4g "-Dorg.bytedeco.javacpp.cachedir=$cache/presets" -cp
        "$SMOKE_PRESETS/classes:$SMOKE_PRESETS/native:$SMOKE_PRESETS/lib/*:$here/lib/*")
    local run=(env "LD_LIBRARY_PATH=$(pip_folders)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "${java[@]}"
        org.jccl.cli.Jccl run --nproc-per-node 2 -- "$@")
    step presets-checks 120 "${run[@]}" bash -c "$check" check "${program[@]}" org.jccl.pytorch.HardwareCheck
    step presets-convnet 60 "${run[@]}" "${program[@]}" org.jccl.examples.pytorch.ConvNetTraining 3 --device "$where"
    step presets-gpt 60 "${run[@]}" "${program[@]}" org.jccl.examples.pytorch.GptTraining compare 100 "$SMOKE_PRESETS/text" --device "$where"
}

# Prints why the presets for CUDA cannot run here, or nothing: unlike the binding they need the runtime and a driver of one CUDA.
presets_obstacle() { # FOLDERS
    local cuda driver folder found=no
    cuda=$(find "$here/lib" -name 'cuda-[0-9]*.jar' -printf '%f\n' | sed -n '1s/^cuda-\([0-9]*\).*/\1/p')
    driver=$(smi | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p' | head -n 1)
    for folder in ${1//:/ }; do
        [[ ! -e $folder/libcudart.so.$cuda ]] || found=yes
    done
    [[ -n $1 ]] || ! ldconfig -p 2>/dev/null | grep -q "libcudart\.so\.$cuda " || found=yes
    if [[ $found == no ]]; then
        echo "the presets are for CUDA $cuda, and its libcudart.so.$cuda is not here"
    elif ((${driver:-$cuda} < cuda)); then
        echo "the presets are for CUDA $cuda, and the driver is for CUDA $driver"
    fi
}

# The presets find the runtime by the dynamic linker and by a property, and do not know of pip. Copies stand for kernels, since
# a host may have no cuBLAS.
cuda_presets() { # COMMAND_OF_A_RANK...
    local folders=${JCCL_NCCL_CUDART:+$(dirname "$JCCL_NCCL_CUDART")} obstacle
    folders=${folders:-$(pip_folders)}
    obstacle=$(presets_obstacle "$folders")
    if [[ -n $obstacle ]]; then
        skip cuda-presets "$obstacle"
        return
    fi
    # shellcheck disable=SC2016
    step cuda-presets 60 env "LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "${java[@]}" \
        org.jccl.cli.Jccl run --nproc-per-node "$ranks" -- "$@" \
        bash -c 'LOCAL_RANK=${JCCL_EXAMPLE_DEVICE:-$LOCAL_RANK} exec "$@"' rank "${java[@]}" \
        ${folders:+"-Dorg.bytedeco.javacpp.platform.linkpath=$folders"} org.jccl.examples.cuda.CudaPresets
}

more_steps() {
    local mine=own rank=()
    if [[ $shared == yes ]]; then
        mine=shared
        rank=("$here/device/shared_device.sh")
        export JCCL_EXAMPLE_DEVICE=0
    fi
    step device-time 90 "${java[@]}" org.jccl.nccl.DeviceTime
    device_time_in_c
    if ((ranks > 1)); then
        step conformance-gloo 180 "${several[@]}" "$CONFORMANCE" "$mine" gloo
        step replaced-rank 120 "$here/device/replaced_rank.sh" "${java[@]}" org.jccl.cli.Jccl run --replace --max-restarts 3 \
            --nproc-per-node "$ranks" -- "$here/device/replaced_rank.sh" --rank ${rank[@]+"${rank[@]}"} \
            "${java[@]}" org.jccl.examples.ReplacedRanks 1200 nccl
        step overlap 90 env JCCL_TRACE_DIR="$report/recordings" "${several[@]}" \
            org.jccl.examples.Overlap --trace "$report/overlap.json"
        step trace 30 "${java[@]}" org.jccl.cli.Jccl trace "$report/recordings" -o "$report/trace.json"
        [[ ! -e $(echo "$here"/lib/jccl-examples-cuda-presets-*.jar) ]] || cuda_presets ${rank[@]+"${rank[@]}"}
        [[ -z ${SMOKE_PRESETS-} ]] || presets_steps ${rank[@]+"${rank[@]}"}
    fi
    if [[ -n $python ]]; then
        step torch-host-cost 60 "$python" "$here/device/torch_host_cost.py"
        step torch-world 200 "$here/device/shared_device.sh" "$python" "$here/device/torch_world.py" "${java[@]}" \
            org.jccl.nccl.TorchWorldRank
    fi
}

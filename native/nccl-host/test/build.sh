#!/usr/bin/env bash
# Builds ranks.cc, which needs CUDA's headers as the library does:  build.sh LIBRARY_DIR MOCK_DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
library=${1:?usage: build.sh LIBRARY_DIR MOCK_DIR} mock=${2:?usage: build.sh LIBRARY_DIR MOCK_DIR}
program=$library/objects/ranks
[[ $program -nt $here/ranks.cc && $program -nt $library/libnccl.so.2 && $program -nt $mock/libcudart.so.13 ]] && exit 0
cuda=${CUDA_HOME:-/usr/local/cuda}/include
[[ -e $cuda/cuda_runtime_api.h ]] || cuda=/usr/local/cuda/include
# What NCCL would call beyond the mock of CUDA is found when it is called.
"${CXX:-g++}" -std=c++17 -O1 -g1 -Wall -Wextra -pthread ${SANITIZE:+-fsanitize=$SANITIZE} -isystem "$cuda" \
    -I"$library/include" "$here/ranks.cc" -o "$program" "$library/libnccl.so.2" "$mock/libcudart.so.13" \
    -Wl,--unresolved-symbols=ignore-in-shared-libs

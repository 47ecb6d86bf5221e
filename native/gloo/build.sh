#!/usr/bin/env bash
# Builds gloo's TCP transport and its collectives as a static library for the shim:  build.sh SOURCE OUT_DIR
#   SOURCE: a folder of gloo's source code;  OUT_DIR/{libgloo.a,include}
# CXX and AR are the compiler and the archiver, and CXXFLAGS are further options. Does nothing when up to date.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "${1:?usage: build.sh SOURCE OUT_DIR}" && pwd -P)
out=$(realpath -m "${2:?usage: build.sh SOURCE OUT_DIR}")

# gloo's CMake files need CMake, and build what nobody here calls. Left out: stores, other transports, and tcp/listener.cc,
# which no_listener.cc of this folder replaces.
files=(allgather allgatherv allreduce allreduce_local alltoallv barrier broadcast context gather reduce scatter types
    common/{linux,logging,utils} transport/{address,buffer,context,device,pair,unbound_buffer}
    transport/tcp/{address,buffer,context,debug_logger,device,error,helpers,loop,pair,socket,unbound_buffer})
flags=(-std=c++17 -O2 -fPIC -pthread -w -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections -fdata-sections
    "-ffile-prefix-map=$source=." "-ffile-prefix-map=$out.new/include=.")
read -ra more <<<"${CXXFLAGS-}"
flags+=(${more[@]+"${more[@]}"})

# What is there was made by this text with this compiler and these libraries.
made_by=$({
    cat "${BASH_SOURCE[0]}" "$here/../common/compile"
    "${CXX:-g++}" --version
    [[ ! -e $here/../../.sysroot/$("${CXX:-g++}" -dumpmachine) ]] || echo "in a sysroot"
    echo "$source ${flags[*]}"
} | sha256sum)
[[ $(cat "$out/made-by" 2>/dev/null) != "$made_by" ]] || exit 0

rm -rf "$out.new"
mkdir -p "$out.new/include" "$out.new/objects"
version() { sed -n "s/^set(GLOO_VERSION_$1 \([0-9]*\))$/\1/p" "$source/CMakeLists.txt"; }
(cd "$source" && find gloo -name '*.h' | xargs cp --parents -t "$out.new/include")
# A buffer that is destroyed waits for threads that still wake it, but by a relaxed load, which orders nothing: what they have
# written may be missing then. The last of them says so instead.
sed -i -e 's/\[\](void\* ptr) {}/[this](T*) { released_.store(true, std::memory_order_release); }/' \
    -e 's/!weak\.expired()/!released_.load(std::memory_order_acquire)/' \
    -e '/ weak_ptr to T$/d' -e '/auto weak = /d' \
    -e 's/^\( *\)friend class WeakNonOwningPtr<T>;/\1std::atomic<bool> released_{false};\n\n&/' \
    -e 's/^#include <memory>/#include <atomic>\n&/' "$out.new/include/gloo/common/memory.h"
[[ $(grep -c 'released_' "$out.new/include/gloo/common/memory.h") == 3 ]] || {
    echo "build.sh: gloo's memory.h is not the one that is known here" >&2
    exit 1
}
sed -e "s/@GLOO_VERSION_MAJOR@/$(version MAJOR)/" -e "s/@GLOO_VERSION_MINOR@/$(version MINOR)/" \
    -e "s/@GLOO_VERSION_PATCH@/$(version PATCH)/" \
    -e 's/^#cmakedefine01 \(GLOO_HAVE_TRANSPORT_TCP\)$/#define \1 1/' -e 's/^#cmakedefine01 \(.*\)$/#define \1 0/' \
    "$source/gloo/config.h.in" >"$out.new/include/gloo/config.h"
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} sh -c '
    source=$0 out=$1 file={}
    shift
    "$@" -c "$source/gloo/$file.cc" -o "$out/objects/$(echo "$file" | tr / -).o"' \
    "$source" "$out.new" "$here/../common/compile" "${flags[@]}" "-I$out.new/include" "-I$source"
"${AR:-ar}" rcsD "$out.new/libgloo.a" "$out.new"/objects/*.o
rm -r "$out.new/objects"
echo "$made_by" >"$out.new/made-by"
rm -rf "$out"
mv "$out.new" "$out"

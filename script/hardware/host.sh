# What run.sh asks of the host; each function prints one sentence where something is not as it must be.

platform_here() {
    case $(uname -m) in
        x86_64) echo linux-x86_64 ;;
        aarch64) echo linux-arm64 ;;
        *) echo "linux-$(uname -m)" ;;
    esac
}

# Whether the pack can run at all; NATIVE is yes where it has more native code than a Java runtime.
check_host() { # PLATFORM NATIVE
    local here glibc
    here=$(platform_here)
    if [[ $2 == yes && $1 != "$here" ]]; then
        echo "this pack is for $1 and this is $here; pack another with script/smoke --platform $here"
        return 1
    fi
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc //')
    if [[ $2 == yes ]] && ! is_at_least 2.31 "$glibc"; then
        echo "this host has glibc ${glibc:-of no version}; the pack's native parts need 2.31 or later"
        return 1
    fi
}

is_at_least() { # LEAST VERSION
    [[ -n $2 && $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]
}

# The pack's Java, else one of the host: on another processor or an older glibc the pack's does not run.
find_java() { # JAVA_OF_THE_PACK
    local candidate
    for candidate in "$1" ${JAVA_HOME:+"$JAVA_HOME/bin/java"} "$(command -v java)"; do
        if is_at_least 17 "$(java_version "$candidate")"; then
            echo "$candidate"
            return
        fi
    done
    echo "the pack's Java does not run on $(platform_here) with $(getconf GNU_LIBC_VERSION 2>/dev/null || echo 'another libc')," \
        "and neither JAVA_HOME nor PATH has a Java 17 or later: install one"
    return 1
}

java_version() { "$1" -version 2>/dev/stdout | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1; }

# Containers have 64 MiB unless told otherwise.
warn_of_memory() { # RANKS LIBRARY
    local left
    left=$(df -Pk "${SMOKE_SHM:-/dev/shm}" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
    if (($1 > 1 && ${left:-0} < 512)); then
        echo "/dev/shm has ${left:-0} MiB left, with which ranks of $2 may fail to connect:" \
            "start the container with --shm-size=1g or --ipc=host"
    fi
}

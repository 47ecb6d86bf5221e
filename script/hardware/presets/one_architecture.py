#!/usr/bin/env python3
"""Overwrites, in a library with code for many of NVIDIA's architectures, the code for all others with zeros.

    one_architecture.py 90 FILE

The file compresses well then, and runs on that architecture only. All offsets stay, and so do the headers, by which CUDA
finds the code. Of a container without code for it, PTX that CUDA can translate stays.
"""

import mmap
import struct
import sys

SECTION = ".nv_fatbin"
MAGIC = 0xBA55ED50
CONTAINER = "<IHHQ"  # magic, version, bytes of this header, bytes of the entries
ENTRY = "<HHIQIIHHI"  # kind, version, bytes of this header, bytes of the code, four that do not matter, architecture
PTX, MACHINE_CODE = 1, 2


def section(file):
    """Where the section begins and ends, by the headers of ELF."""
    (table,) = struct.unpack_from("<Q", file, 0x28)
    size, count, of_names = struct.unpack_from("<HHH", file, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", file, table + i * size) for i in range(count)]
    for name, _, _, _, offset, length, *_ in headers:
        begin = headers[of_names][4] + name
        if file[begin : file.find(b"\0", begin)].decode() == SECTION:
            return offset, offset + length
    sys.exit(f"there is no section {SECTION}")


def entries(file, begin, end):
    """Kind, architecture, offset and size of each code in a container."""
    found = []
    while begin < end:
        kind, _, header, size, _, _, _, _, architecture = struct.unpack_from(ENTRY, file, begin)
        if kind not in (PTX, MACHINE_CODE) or header < struct.calcsize(ENTRY):
            sys.exit(f"an entry of another form at {begin:#x}")
        found.append((kind, architecture, begin + header, size))
        begin += header + size
    if begin != end:
        sys.exit(f"the entries do not end with their container, at {end:#x}")
    return found


def keep(found, wanted):
    own = [each for each in found if each[:2] == (MACHINE_CODE, wanted)]
    return own or [each for each in found if each[0] == PTX and each[1] <= wanted]


def main():
    wanted, path = int(sys.argv[1]), sys.argv[2]
    kept = gone = lacking = 0
    with open(path, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as file:
        at, end = section(file)
        while at < end:
            magic, version, header, size = struct.unpack_from(CONTAINER, file, at)
            if magic != MAGIC or version != 1:
                if file[at : at + 8] != bytes(8):
                    sys.exit(f"no container at {at:#x}")
                at += 8  # containers are aligned
                continue
            found = entries(file, at + header, at + header + size)
            stays = keep(found, wanted)
            lacking += not stays
            for each in found:
                if each in stays:
                    kept += each[3]
                else:
                    file[each[2] : each[2] + each[3]] = bytes(each[3])
                    gone += each[3]
            at += header + size
    print(f"{path}: kept {kept >> 20} MiB of code, overwrote {gone >> 20} MiB; {lacking} containers have nothing for {wanted}")
    if lacking:
        sys.exit(1)


if __name__ == "__main__":
    main()

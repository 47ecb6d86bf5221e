// What the TPU runtime, tpuDNN and SCCL cases share.
#pragma once
#include "../runner.h"

#include "../../front/sccl/functions.h"
#include "../../front/tpu/functions.h"
#include "../../front/tpudnn/functions.h"

using Context = ContextOf<scclUniqueId>;
using Case = CaseOf<scclUniqueId>;

void addRuntimeCases(std::vector<Case>& cases);
void addCollectiveCases(std::vector<Case>& cases);
void addStrictCases(std::vector<Case>& cases);

inline void use(int device) {
    OK(tpuInit());
    OK(tpuSetDevice(device));
}

inline tpuStream_t newStream() {
    tpuStream_t stream = nullptr;
    OK(tpuStreamCreate(&stream));
    return stream;
}

inline tpuEvent_t newEvent() {
    tpuEvent_t event = nullptr;
    OK(tpuEventCreate(&event));
    return event;
}

template <class T>
T* onDevice(size_t count) {
    void* memory = nullptr;
    OK(tpuMalloc(&memory, count * sizeof(T)));
    return static_cast<T*>(memory);
}

template <class T>
T* onDevice(const std::vector<T>& values) {
    T* memory = onDevice<T>(values.size());
    OK(tpuMemcpyH2D(memory, values.data(), values.size() * sizeof(T)));
    return memory;
}

template <class T>
std::vector<T> read(const T* memory, size_t count) {
    std::vector<T> values(count);
    OK(tpuMemcpyD2H(values.data(), memory, count * sizeof(T)));
    return values;
}

/** A rank with a handle on its chip; a collective's result is there after fetch(). */
struct Rank {
    int rank;
    int size;
    scclHandle_t handle;
    scclComm_t comm;

    explicit Rank(const Context& context, const int* chipMap = nullptr) : rank(context.rank), size(context.size) {
        int device = chipMap == nullptr ? rank : chipMap[rank];
        use(device);
        handle = scclCreateHandle(device);
        CHECK(handle != nullptr);
        OK(scclCommInitRank(&comm, size, context.id, rank, chipMap));
    }

    void* virt(const void* raw) const { return scclPhysToVirt(handle, reinterpret_cast<uint64_t>(raw)); }

    template <class T>
    std::vector<T> fetch(const T* memory, size_t count) const {
        OK(tpudnnSync(handle));
        return read(memory, count);
    }
};

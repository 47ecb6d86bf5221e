// What the parts of the tpuDNN front share. Operations wait in their handle until it is flushed, as instructions wait
// in the real one's cache: a stream that is synchronized before has not run them.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "../../engine/comm/communicator.h"
#include "../../engine/comm/vendor.h"
#include "functions.h"

namespace mock::tpudnn {

struct Handle {
    std::atomic<bool> live{false};
    int device = 0;
    Stream* stream = nullptr;
    bool ownsStream = false;

    struct Waiting {
        Task task;
        std::shared_ptr<Order> order;
    };
    std::mutex mutex;
    std::vector<Waiting> waiting;
};

/** Ends the process for anything that is no live handle, as the real library would crash. */
Handle& find(const char* call, tpudnnHandle_t handle);

/** Prints why: the vendor has no texts for its errors. */
[[gnu::format(printf, 1, 2)]] tpudnnStatus_t fail(const char* format, ...);
/** The thread has to be on the handle's device. */
tpudnnStatus_t ready(const char* call, const Handle& handle);

void submit(Handle& handle, Task task, std::shared_ptr<Order> order);

/** The raw address behind one that this device's handle has translated; ends the process for any other. */
void* rawOf(const char* call, const Handle& handle, const void* address);

/** Each one there, and none twice. */
bool areDistinct(int size, const int* chips);
bool isRing(int size, const int* chips);

}  // namespace mock::tpudnn

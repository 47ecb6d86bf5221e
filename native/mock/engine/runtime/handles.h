// Opaque handles that can be checked: every object of one kind lives in one reserved range, so that any
// bit pattern a caller passes is told apart from a live handle without touching unknown memory.
#pragma once
#include <atomic>
#include <deque>
#include <mutex>
#include <new>
#include <sys/mman.h>

#include "../base.h"

namespace mock {

/** T needs: a default constructor and a member `std::atomic<bool> live`. Memory is type-stable: never unmapped. */
template <class T>
class Handles {
public:
    explicit Handles(size_t capacity, bool reuse) : capacity_(capacity), reuse_(reuse) {
        void* range = mmap(nullptr, capacity * sizeof(T), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) fatal("cannot reserve handles");
        first_ = static_cast<T*>(range);
    }

    T* create() {
        std::lock_guard<std::mutex> lock(mutex_);
        T* object;
        if (free_.size() > quarantine) {
            object = free_.front();
            free_.pop_front();
        } else {
            if (used_ == capacity_) fatal("too many live or leaked handles (%zu)", capacity_);
            object = new (first_ + used_) T();
            ++used_;
        }
        object->live = true;
        return object;
    }

    /** The live object behind a raw handle, or null. */
    T* find(const void* handle) const {
        auto offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(first_);
        if (offset % sizeof(T) != 0 || offset / sizeof(T) >= used_.load(std::memory_order_acquire)) return nullptr;
        T* object = first_ + offset / sizeof(T);
        return object->live ? object : nullptr;
    }

    /** False when another thread was first. A handle comes back only after many others, so stale use is caught. */
    bool destroy(T* object) {
        if (!object->live.exchange(false)) return false;
        if (reuse_) {
            std::lock_guard<std::mutex> lock(mutex_);
            free_.push_back(object);
        }
        return true;
    }

private:
    static constexpr size_t quarantine = 4096;
    T* first_;
    size_t capacity_;
    bool reuse_;
    std::atomic<size_t> used_{0};
    std::mutex mutex_;
    std::deque<T*> free_;
};

}  // namespace mock

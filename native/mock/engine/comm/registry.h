// The handles of a front's communicators.
#pragma once
#include <memory>
#include <mutex>

#include "../runtime/handles.h"

namespace mock {

template <class T>
class Registry {
public:
    /** Null for anything that is no live handle. */
    std::shared_ptr<T> find(const void* handle) {
        Entry* entry = entries_.find(handle);
        if (entry == nullptr) return nullptr;
        std::lock_guard<std::mutex> lock(mutex_);
        return entry->object;
    }

    void* publish(std::shared_ptr<T> object) {
        Entry* entry = entries_.create();
        std::lock_guard<std::mutex> lock(mutex_);
        entry->object = std::move(object);
        return entry;
    }

    /** False when the handle was not, or is no longer, live. */
    bool retire(const void* handle) {
        Entry* entry = entries_.find(handle);
        if (entry == nullptr) return false;
        std::shared_ptr<T> last;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            last.swap(entry->object);
        }
        return entries_.destroy(entry);
    }

private:
    struct Entry {
        std::atomic<bool> live{false};
        std::shared_ptr<T> object;
    };
    Handles<Entry> entries_{size_t(1) << 16, true};
    std::mutex mutex_;
};

}  // namespace mock

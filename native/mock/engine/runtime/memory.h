// Device memory the host cannot touch: callers get addresses in a PROT_NONE window, and only the workers
// know the alias where the bytes really are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

namespace mock {

class DeviceMemory {
public:
    DeviceMemory(int device, size_t capacity);

    /** Null when the device is full. A block that is not ready may be used only after makeReady (in stream order). */
    void* allocate(size_t bytes, bool ready);
    void makeReady(void* address);

    /** False when no live block starts here. */
    bool isBlock(const void* address);
    bool release(void* address);

    bool contains(const void* address) const;
    /** The live block around an address: its start and size. */
    bool blockOf(const void* address, void** start, size_t* size);

    /** Where a worker finds bytes of the window; null after reporting an access outside one live block. */
    char* alias(const void* address, size_t bytes, const char* user);

    size_t capacity() const { return capacity_; }
    size_t available();

private:
    struct Block {
        size_t bytes;
        size_t room;
        bool ready;
    };
    struct Span {
        uintptr_t offset;
        size_t room;
    };

    void* place(size_t bytes, size_t room, bool ready);
    void recycle(Span span);
    void drain(size_t limit);
    [[gnu::cold]] char* refuse(const void* address, size_t bytes, const char* user, const char* why);

    int device_;
    size_t capacity_;
    char* window_;
    char* alias_;
    int file_;
    std::mutex mutex_;
    std::map<uintptr_t, Block> blocks_;
    std::map<uintptr_t, size_t> free_;
    std::deque<Span> quarantine_;
    size_t quarantined_ = 0;
    size_t used_ = 0;
};

}  // namespace mock

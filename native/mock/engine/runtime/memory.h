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
    /** A live block: where it begins in the window and in the file, and how long it is. */
    struct Block {
        char* address = nullptr;
        size_t offset = 0;
        size_t bytes = 0;
    };

    DeviceMemory(int device, size_t capacity);

    /** Null when the device is full. */
    void* allocate(size_t bytes);

    /** Counts memory that a library has for itself and nobody sees; false when there is not so much left. */
    bool reserve(size_t bytes);
    void giveBack(size_t bytes);
    size_t used();

    /** False when no live block starts here. */
    bool isBlock(const void* address);
    bool release(void* address);

    bool contains(const void* address) const;
    /** How many bytes there are from an address to the end of its live block; 0 when it is in none. */
    size_t roomAt(const void* address);
    /** The live block that an address lies in; empty when there is none. */
    Block blockAt(const void* address);
    /** What the bytes of the window are in. */
    int file() const { return file_; }

    /** Where a worker finds bytes of the window; ends the process for an access outside one live block. */
    char* alias(const void* address, size_t bytes, const char* user);

private:
    struct Extent {
        size_t bytes;
        size_t room;
    };
    struct Span {
        uintptr_t offset;
        size_t room;
    };

    void* place(size_t bytes, size_t room);
    void recycle(Span span);
    void drain(size_t limit);

    int device_;
    size_t capacity_;
    char* window_;
    char* alias_;
    int file_;
    std::mutex mutex_;
    std::map<uintptr_t, Extent> blocks_;
    std::map<uintptr_t, size_t> free_;
    std::deque<Span> quarantine_;
    size_t quarantined_ = 0;
    size_t used_ = 0;
};

}  // namespace mock

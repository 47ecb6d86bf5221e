#include "link.h"

#include "copy.h"
#include "runtime.h"

namespace mock {

namespace {

class Link final : public RuntimeLink {
public:
    int deviceCount() override { return mock::deviceCount(); }
    int currentDevice() override { return mock::currentDevice(); }
    Status setCurrentDevice(int device) override { return mock::setCurrentDevice(device); }
    int capability() override { return mock::capability(); }

    Stream* findStream(const void* handle) override { return mock::findStream(handle); }
    Stream* createStream() override { return device(mock::currentDevice()).createStream(false, 0); }

    Status submit(Stream& stream, Task task, std::shared_ptr<Order> order) override {
        return mock::submit(stream, std::move(task), std::move(order));
    }

    Status join(Stream& waiter, Stream& other) override { return joinStreams(waiter, other); }
    bool isCaptured(Stream& stream) override { return stream.capture.load() != nullptr; }

    void await(Order& order) override {
        Position last;
        {
            std::lock_guard<std::mutex> lock(order.mutex);
            last = order.last;
        }
        last.await();
    }

    void await(Stream& stream) override { stream.tail().await(); }
    void awaitDevice(int index) override {
        for (const Position& position : device(index).tails()) position.await();
    }
    bool isIdle(Stream& stream) override { return stream.tail().reached(); }

    int deviceOf(const void* address) override {
        Device* owner = mock::deviceOf(address);
        return owner == nullptr ? host : owner->index;
    }

    char* view(const void* address, size_t bytes, const char* user) override {
        return workerView(address, bytes, user);
    }
    Status allocate(void** address, size_t bytes) override { return mock::allocate(address, bytes); }
    Status release(void* address) override { return mock::release(address); }
    bool reserve(int index, size_t bytes) override { return device(index).memory.reserve(bytes); }
    void giveBack(int index, size_t bytes) override { device(index).memory.giveBack(bytes); }
    void explain(const std::string& text) override { mock::explain(text); }
};

}  // namespace

RuntimeLink& ownRuntime() {
    static auto* link = new Link();
    return *link;
}

}  // namespace mock

// Work on streams: the one way in for every operation, eager or captured.
#pragma once
#include <memory>
#include <string>

#include "device.h"
#include "graph.h"
#include "status.h"

extern "C" {
extern const char mockKernelFill[8];
extern const char mockKernelAxpy[8];
extern const char mockKernelBusy[8];
}

namespace mock {

/** Issues now on a real stream, after the last operation of the same order. */
Position issueOrdered(Stream& stream, Task task, Order* order);

/** Issues an operation, or records it when the stream is being captured. `position` may be null. */
Status submit(Stream& stream, Task task, std::shared_ptr<Order> order = nullptr, Position* position = nullptr);

/** What `waiter` gets from now on runs after all that `other` has; both eager or both in one capture. */
Status joinStreams(Stream& waiter, Stream& other);

Status synchronizeStream(Stream& stream);
Status queryStream(Stream& stream);
Status synchronizeDevice();

Status launchHostFunction(Stream& stream, void (*function)(void*), void* argument);

/** Starts a kernel of kernel.cc or a registered one; `arguments` as for a launch of the vendor: pointers to each value. */
Status launchKernel(const void* kernel, void** arguments, Stream& stream);

/** What a library has in a kernel's place: it runs on the stream's thread with a copy of the kernel's one argument. */
using KernelBody = void (*)(const void* argument, size_t bytes);
/** Names the body of a kernel that the library knows by an address; the argument has at most so many bytes. */
void registerKernel(const void* kernel, KernelBody body, size_t most);
bool isKernel(const void* kernel);
/** Starts a registered kernel. */
Status launchRegistered(const void* kernel, const void* argument, size_t bytes, Stream& stream);

Status launchGraph(Executable& executable, Stream& stream);

/** The text of a thread's last failure, for vendors whose libraries hand one out; taking it leaves an empty one. */
void explain(const std::string& text);
std::string takeExplanation();

/** The vendor's code to answer with for Status::Injected. */
int injectedCode();
/** Compute capability of every device, major * 10 + minor. */
int capability();

}  // namespace mock

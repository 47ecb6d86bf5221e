// What moves the data of messages and of the library while the program is in no call of it.
#pragma once

#include <functional>
#include <thread>

namespace jccl {

// Starts a thread that gets no signals of the process: these belong to the threads of the JVM.
std::thread startWithoutSignals(std::function<void()> body);

// Once in a process, after MPI was initialised by this library and before other threads use it.
void prepareProgress();

// Lets the library look after what it has in hand. A rank whose own operations are over calls nothing else, although the
// library may not have sent yet that a message was received. Does nothing in a process that was not prepared.
void progress();

// Starts a thread that does so for as long as messages are under way, once in a process.
void startProgress();

// Ends both; before MPI_Finalize.
void stopProgress();

}  // namespace jccl

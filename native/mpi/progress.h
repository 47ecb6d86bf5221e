// A thread that brings forward what is under way, so that messages and collectives move while the program computes.
#pragma once

namespace jccl {

// Starts it, once in a process.
void startProgress();

// Ends it, if it was started; before MPI_Finalize.
void stopProgress();

}  // namespace jccl

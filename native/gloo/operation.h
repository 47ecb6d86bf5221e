// What identifies an operation on the wire, and where its data lies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exchange.h"
#include "reduce.h"
#include "transport.h"

namespace jccl {

// Where each rank's part lies in a buffer that holds all of them.
class Parts final {
 public:
  Parts(const int64_t* counts, int size, size_t elementSize) : bytes_(size), offsets_(size) {
    for (int i = 0; i < size; i++) {
      bytes_[i] = static_cast<size_t>(counts[i]) * elementSize;
      offsets_[i] = total_;
      total_ += bytes_[i];
      largest_ = std::max(largest_, bytes_[i]);
    }
  }
  size_t bytes(int rank) const { return bytes_[rank]; }
  size_t offset(int rank) const { return offsets_[rank]; }
  size_t total() const { return total_; }
  size_t largest() const { return largest_; }
  const std::vector<size_t>& all() const { return bytes_; }

 private:
  std::vector<size_t> bytes_;
  std::vector<size_t> offsets_;
  size_t total_ = 0;
  size_t largest_ = 0;
};

inline char* at(void* base, size_t offset) { return static_cast<char*>(base) + offset; }
inline const char* at(const void* base, size_t offset) { return static_cast<const char*>(base) + offset; }

inline Combine combiner(int type, int kind) {
  const Combine combine = combineOf(type, kind);
  if (combine == nullptr) {
    throw Failure(
        kInvalid, "reduce op " + std::to_string(kind) + " is not defined for data type " + std::to_string(type));
  }
  return combine;
}

inline void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) {
    std::memmove(to, from, bytes);
  }
}

// gloo's options take the element size from a template argument.
template <typename Options>
void setMemory(Options& options, std::unique_ptr<Transfer> in, std::unique_ptr<Transfer> out, size_t elementSize) {
  const auto set = [&](auto element) {
    using T = decltype(element);
    if (in != nullptr) {
      options.template setInput<T>(std::move(in));
    }
    options.template setOutput<T>(std::move(out));
  };
  switch (elementSize) {
    case 1:
      return set(uint8_t{});
    case 2:
      return set(uint16_t{});
    case 4:
      return set(uint32_t{});
    default:
      return set(uint64_t{});
  }
}

// What ranks must agree on, folded into the tag of the operation's messages.
class Signature final {
 public:
  Signature(OperationKind kind, int type) { add(kind).add(type); }

  Signature& add(uint64_t value) {
    hash_ ^= value;
    hash_ *= 0xff51afd7ed558ccdu;
    hash_ ^= hash_ >> 32;
    return *this;
  }
  Signature& add(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return add(bits);
  }
  Signature& add(int value) { return add(static_cast<uint64_t>(value)); }
  Signature& add(const int64_t* values, int count) {
    for (int i = 0; i < count; i++) {
      add(static_cast<uint64_t>(values[i]));
    }
    return *this;
  }

  uint32_t bits24() const { return static_cast<uint32_t>(hash_ >> 40); }

 private:
  uint64_t hash_ = 0x9e3779b97f4a7c15u;
};

// The low 8 bits of an operation's position on the communicator and 24 bits of its signature, so that messages of ranks
// that disagree never meet.
inline uint32_t tagOf(uint32_t position, const Signature& signature) {
  return (position & 0xff) | signature.bits24() << 8;
}

// A collective from its first to its last message.
class Operation final {
 public:
  Operation(Mesh& mesh, uint32_t tag, Clock::time_point deadline, uint8_t kind = 0)
      : mesh(mesh), exchange(mesh.exchange()), tag(tag) {
    mesh.enter(static_cast<uint64_t>(kind) << 32 | tag, deadline);
  }
  // After a failure the position stays known, for the question what the peers were doing.
  ~Operation() {
    if (std::uncaught_exceptions() == 0) {
      mesh.leave();
    }
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  uint64_t slot(uint32_t step) const { return slotOf(kOwnCollective, tag, step); }
  // Moves what was given to the exchange.
  void run() const { exchange.run(tag, mesh.deadline()); }

  Mesh& mesh;
  Exchange& exchange;
  const uint32_t tag;
};

}  // namespace jccl

// What a shim throws inside, and turns into a status before Java sees it.
#pragma once

#include <stdexcept>
#include <string>

#include "jccl.h"

namespace jccl {

class Failure final : public std::runtime_error {
 public:
  Failure(Status status, const std::string& message) : std::runtime_error(message), status(status) {}
  const Status status;
};

}  // namespace jccl

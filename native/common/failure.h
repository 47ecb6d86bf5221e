// What a shim throws inside, and turns into a status before Java sees it.
#pragma once

#include <stdexcept>
#include <string>

#include "jccl.h"

namespace jccl {

class Failure final : public std::runtime_error {
 public:
  Failure(Status status, const std::string& message, int lost = -1)
      : std::runtime_error(message), status(status), lost(lost) {}
  const Status status;
  const int lost;  // the rank that is, or -1
};

}  // namespace jccl

// Which functions a chip has, and which types they take, as the manual lists them.
#pragma once
#include <cstddef>

#include "../../engine/comm/types.h"
#include "types.h"

namespace mock::hccl {

/** MOCK_HCCL_CHIP: A2 (unless set), A3, A5 or 910A. */
enum class Chip { A2, A3, A5, A910 };
Chip chip();

/** What the manual says a function does on this chip, for a communicator of so many ranks. */
enum class Support { Works, Refused };
Support supports(const char* function, size_t ranks);

bool toDataType(int type, DataType* result);
bool canReduce(Kind kind, int type, int op);
bool canMove(int type);

}  // namespace mock::hccl

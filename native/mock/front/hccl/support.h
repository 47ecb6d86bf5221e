// Which functions a chip has, and which types they take, as the manual lists them.
#pragma once
#include <cstddef>

#include "../../engine/comm/types.h"
#include "types.h"

namespace mock::hccl {

/** MOCK_HCCL_CHIP: A2 (unless set), A3, A5, 910A or 310P. */
enum class Chip { A2, A3, A5, A910, A310P };
Chip chip();

/** What the manual says a function does on this chip, for a communicator of so many ranks. */
enum class Support {
    Works,
    Refused,
    /** Answers success and leaves the data as it is. */
    DoesNothing
};
Support supports(const char* function, size_t ranks);

bool toDataType(int type, DataType* result);
bool canReduce(Kind kind, int type, int op);
bool canMove(int type);

}  // namespace mock::hccl

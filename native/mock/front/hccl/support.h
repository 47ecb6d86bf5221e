// Which operations a chip has for which types, as its documentation lists them.
#pragma once
#include "../../engine/comm/types.h"
#include "types.h"

namespace mock::hccl {

/** MOCK_HCCL_CHIP: A2 (unless set), A3, A5, 910A or 310P. */
enum class Chip { A2, A3, A5, A910, A310P };
Chip chip();

bool toDataType(int type, DataType* result);
bool canReduce(Kind kind, int type, int op);
bool canMove(Kind kind, int type);

}  // namespace mock::hccl

#include "choice.h"

#include "communicator.h"

namespace jccl {

namespace {

constexpr int64_t kKilobyte = 1024;

struct Row {
  OperationKind what;
  int mostRanks;
  // Of the data that a rank has at first.
  int64_t leastBytes;
  Way way;
};

// What was faster than the non-blocking calls of Open MPI 4.1.4 and MPICH 4.0.2 with 2 and with 4 ranks of one host, which
// were measured. The last row that fits counts; without one it is the library's call.
constexpr Row kRows[] = {
    {kBarrier, 4, 0, Way::kDoubling},
    {kBroadcast, 4, 0, Way::kFromRoot},
    {kAllReduce, 4, 0, Way::kDoubling},
    {kAllReduce, 2, 4 * kKilobyte, Way::kRing},
    {kAllReduce, 2, 40 * kKilobyte, Way::kDoubling},
    {kAllReduce, 2, 128 * kKilobyte, Way::kRing},
    {kAllReduce, 4, 512 * kKilobyte, Way::kRing},
    {kReduce, 4, 0, Way::kToRoot},
    {kAllGather, 4, 0, Way::kPairwise},
    {kAllToAll, 4, 0, Way::kPairwise},
    {kReduceScatter, 4, 0, Way::kPairwise},
};

}  // namespace

Way wayOf(const Call& call, int size) {
  if (size < 2) {
    return Way::kLibrary;
  }
  const bool blocks = call.what == kReduceScatter || call.what == kAllGather || call.what == kAllToAll;
  const WideCount bytes = WideCount{call.count} * elementSizeOf(call.type) * (blocks ? size : 1);
  Way way = Way::kLibrary;
  for (const Row& row : kRows) {
    if (row.what == call.what && size <= row.mostRanks && bytes >= row.leastBytes) {
      way = row.way;
    }
  }
  return way;
}

}  // namespace jccl

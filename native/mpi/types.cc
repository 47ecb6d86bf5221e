#include "types.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace jccl {

namespace {

// MPI calls this with its own idea of the type; ours is in the template, as are no two alike to MPI.
template <int type, int kind>
void combine(void* in, void* inOut, int* length, MPI_Datatype*) {
  static const Combine kernel = combineOf(type, kind);
  kernel(inOut, in, inOut, static_cast<size_t>(*length));
}

template <size_t... i>
constexpr std::array<MPI_User_function*, sizeof...(i)> functions(std::index_sequence<i...>) {
  return {combine<static_cast<int>(i) / kReduceKinds, static_cast<int>(i) % kReduceKinds>...};
}

constexpr auto kFunctions = functions(std::make_index_sequence<kDataTypes * kReduceKinds>());

struct UserOperations {
  std::mutex mutex;
  bool made[kDataTypes * kReduceKinds] = {};
  MPI_Op operations[kDataTypes * kReduceKinds];
};

UserOperations& userOperations() {
  static auto& instance = *new UserOperations();
  return instance;
}

MPI_Op userOperation(int type, int kind) {
  const int index = type * kReduceKinds + kind;
  auto& known = userOperations();
  std::lock_guard<std::mutex> lock(known.mutex);
  if (!known.made[index]) {
    constexpr int kCommutes = 1;
    check(MPI_Op_create(kFunctions[index], kCommutes, &known.operations[index]), "MPI_Op_create");
    known.made[index] = true;
  }
  return known.operations[index];
}

bool isFloat(int type) { return type == kFloat32 || type == kFloat64; }

bool isInteger(int type) { return type <= kInt64; }

// A NaN must win, which MPI does not promise for floats, and MPICH 4.0 compares unsigned bytes as signed ones.
bool ordersAsWeDo(int type) { return isInteger(type) && type != kUint8; }

// Open MPI's vector instructions make the sum of small integers the largest one where it should wrap around (its issue
// 8045, closed as not to be fixed).
bool addsAsWeDo(int type) { return isFloat(type) || type == kInt32 || type == kInt64; }

// Whether MPI has an operation that means the same as JCCL's.
bool isPredefined(int type, int kind) {
  switch (kind) {
    case kMin:
    case kMax:
      return ordersAsWeDo(type);
    case kSum:
    case kAvg:
    case kPremulSum:
      return addsAsWeDo(type);
    default:
      return isFloat(type) || isInteger(type);
  }
}

Status statusOf(int errorClass) {
  switch (errorClass) {
    case MPI_ERR_TRUNCATE:
      return kMismatch;
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_TAG:
    case MPI_ERR_RANK:
    case MPI_ERR_ROOT:
    case MPI_ERR_OP:
    case MPI_ERR_ARG:
      return kInvalid;
    default:
      return kInternal;
  }
}

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) {
    return;
  }
  int errorClass = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &errorClass);
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Failure(
      statusOf(errorClass),
      std::string(call) + ": " + std::string(text, static_cast<size_t>(length)) + " (error class " +
          std::to_string(errorClass) + ")");
}

bool isOpenMpi() {
  static const bool is = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    return std::strncmp(text, "Open MPI", 8) == 0;
  }();
  return is;
}

MPI_Datatype datatypeOf(int type) {
  switch (type) {
    case kInt8:
      return MPI_INT8_T;
    case kInt16:
      return MPI_INT16_T;
    case kInt32:
      return MPI_INT32_T;
    case kInt64:
      return MPI_INT64_T;
    case kFloat16:
    case kBfloat16:
      return MPI_UINT16_T;
    case kFloat32:
      return MPI_FLOAT;
    case kFloat64:
      return MPI_DOUBLE;
    default:
      return MPI_UINT8_T;
  }
}

MPI_Datatype blockOf(int type, int64_t count) {
  const auto size = static_cast<int64_t>(elementSizeOf(type));
  const int64_t part = largestCall / size;
  const auto parts = static_cast<int>(count / part);
  const auto rest = static_cast<int>(count % part);
  MPI_Datatype partType;
  check(MPI_Type_contiguous(static_cast<int>(part), datatypeOf(type), &partType), "MPI_Type_contiguous");
  int lengths[] = {parts, rest};
  MPI_Aint places[] = {0, static_cast<MPI_Aint>(parts * part * size)};
  MPI_Datatype types[] = {partType, datatypeOf(type)};
  MPI_Datatype block;
  const int code = MPI_Type_create_struct(2, lengths, places, types, &block);
  const int freed = MPI_Type_free(&partType);
  check(code, "MPI_Type_create_struct");
  check(freed, "MPI_Type_free");
  check(MPI_Type_commit(&block), "MPI_Type_commit");
  return block;
}

MPI_Op operationOf(int type, int kind, bool sharedWorld) {
  const bool known = isFloat(type) || isInteger(type);
  if (!(sharedWorld ? known : isPredefined(type, kind))) {
    return userOperation(type, kind == kAvg || kind == kPremulSum ? kSum : kind);
  }
  switch (kind) {
    case kSum:
    case kAvg:
    case kPremulSum:
      return MPI_SUM;
    case kProduct:
      return MPI_PROD;
    case kMin:
      return MPI_MIN;
    case kMax:
      return MPI_MAX;
    case kBand:
      return MPI_BAND;
    case kBor:
      return MPI_BOR;
    default:
      return MPI_BXOR;
  }
}

bool reducesWithoutHost(int type, int kind) {
  return kind != kAvg && kind != kPremulSum && isPredefined(type, kind);
}

bool takesCuda() {
  // An extension: Open MPI and MPICH have it, libraries with the standard ABI and Cray MPICH may not.
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (query != nullptr) {
    return query() != 0;
  }
  const char* cray = std::getenv("MPICH_GPU_SUPPORT_ENABLED");
  return cray != nullptr && std::strcmp(cray, "1") == 0;
}

void freeOperations() {
  auto& known = userOperations();
  std::lock_guard<std::mutex> lock(known.mutex);
  for (int i = 0; i < kDataTypes * kReduceKinds; i++) {
    if (known.made[i]) {
      MPI_Op_free(&known.operations[i]);
      known.made[i] = false;
    }
  }
}

}  // namespace jccl

// libopapi and libnnopbase: the element-wise operators that a communication library's user needs beside it. Each is
// prepared, which makes an executor, and enqueued once, which uses the executor up.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "../../engine/base.h"
#include "../../engine/comm/reduce.h"
#include "../acl/functions.h"
#include "../acl/link.h"

#define ACLNN_API MOCK_API

namespace {

using namespace mock;

constexpr int32_t formatNd = 2;
/** What operators ask for, so that callers show whether they give it. */
constexpr uint64_t scaleWorkspace = 512;
constexpr int32_t nullArgument = 161001;
constexpr int32_t badArgument = 161002;

}  // namespace

struct aclTensor {
    uint64_t count;
    DataType type;
    int32_t number;
    char* data;
};

struct aclScalar {
    double value;
};

struct aclOpExecutor {
    aclTensor input;
    aclTensor output;
    double factor;
    uint64_t workspace;
    bool used = false;
};

namespace {

bool toDataType(int32_t number, DataType* type) {
    switch (number) {
        case 0: *type = DataType::Float32; return true;
        case 1: *type = DataType::Float16; return true;
        case 2: *type = DataType::Int8; return true;
        case 3: *type = DataType::Int32; return true;
        case 4: *type = DataType::Uint8; return true;
        case 6: *type = DataType::Int16; return true;
        case 9: *type = DataType::Int64; return true;
        case 11: *type = DataType::Float64; return true;
        case 27: *type = DataType::Bfloat16; return true;
        default: return false;
    }
}

int32_t fail(int32_t code, const char* call, const char* problem) {
    char text[256];
    std::snprintf(text, sizeof text, "%s: %s", call, problem);
    mockAclRuntime()->explain(text);
    return code;
}

int32_t prepare(const char* call, const aclTensor* input, const aclTensor* output, double factor, uint64_t workspace,
                uint64_t* workspaceSize, aclOpExecutor** executor) {
    if (input == nullptr || output == nullptr || workspaceSize == nullptr || executor == nullptr) {
        return fail(nullArgument, call, "null argument");
    }
    if (input->count != output->count) return fail(badArgument, call, "tensors of different shapes");
    *workspaceSize = workspace;
    *executor = new aclOpExecutor{*input, *output, factor, workspace};
    return 0;
}

/** Executors are never freed, so that a second use is noticed. */
int32_t enqueue(const char* call, void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                aclrtStream handle) {
    if (executor == nullptr) return fail(nullArgument, call, "null executor");
    if (executor->used) fatal("%s: an executor is for one use", call);
    if (workspaceSize != executor->workspace) return fail(badArgument, call, "workspace of another size");
    if (workspaceSize > 0 && workspace == nullptr) return fail(nullArgument, call, "null workspace");
    RuntimeLink& runtime = *mockAclRuntime();
    Stream* stream = runtime.findStream(handle);
    if (stream == nullptr) return fail(badArgument, call, "no live stream");
    executor->used = true;
    std::string name = call;
    Task task = [executor, workspace, workspaceSize, name, &runtime] {
        const aclTensor& input = executor->input;
        const aclTensor& output = executor->output;
        const char* from = runtime.view(input.data, input.count * sizeOf(input.type), name.c_str());
        char* to = runtime.view(output.data, output.count * sizeOf(output.type), name.c_str());
        if (from == nullptr || to == nullptr) return;
        if (workspaceSize > 0) {
            char* room = runtime.view(workspace, workspaceSize, name.c_str());
            if (room == nullptr) return;
            std::memset(room, 0x5a, workspaceSize);
        }
        convert(input.type, from, output.type, to, input.count, executor->factor);
    };
    return runtime.submit(*stream, task, nullptr) == Status::Ok ? 0 : fail(badArgument, call, "not enqueued");
}

}  // namespace

ACLNN_API aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, int32_t dataType,
                                     const int64_t* strides, int64_t offset, int32_t format,
                                     const int64_t* storageDims, uint64_t storageDimsNum, void* data) {
    DataType type;
    if (viewDims == nullptr || strides == nullptr || storageDims == nullptr || viewDimsNum != 1 ||
        storageDimsNum != 1 || !toDataType(dataType, &type)) {
        return nullptr;
    }
    if (viewDims[0] < 1 || storageDims[0] != viewDims[0] || strides[0] != 1 || offset != 0 || format != formatNd) {
        return nullptr;
    }
    return new aclTensor{static_cast<uint64_t>(viewDims[0]), type, dataType, static_cast<char*>(data)};
}

ACLNN_API int32_t aclDestroyTensor(const aclTensor* tensor) {
    delete tensor;
    return 0;
}

ACLNN_API aclScalar* aclCreateScalar(void* value, int32_t dataType) {
    if (value == nullptr) return nullptr;
    float narrow;
    double wide;
    std::memcpy(&narrow, value, sizeof narrow);
    if (dataType == 0) return new aclScalar{narrow};
    if (dataType != 11) return nullptr;
    std::memcpy(&wide, value, sizeof wide);
    return new aclScalar{wide};
}

ACLNN_API int32_t aclDestroyScalar(const aclScalar* scalar) {
    delete scalar;
    return 0;
}

ACLNN_API int32_t aclnnInplaceMulsGetWorkspaceSize(aclTensor* selfRef, const aclScalar* other,
                                                   uint64_t* workspaceSize, aclOpExecutor** executor) {
    const char* call = "aclnnInplaceMuls";
    if (other == nullptr) return fail(nullArgument, call, "null scalar");
    return prepare(call, selfRef, selfRef, other->value, scaleWorkspace, workspaceSize, executor);
}

ACLNN_API int32_t aclnnInplaceMuls(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream) {
    return enqueue("aclnnInplaceMuls", workspace, workspaceSize, executor, stream);
}

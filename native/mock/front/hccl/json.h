// As much of JSON as a rank table needs.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace mock::hccl {

struct Json {
    enum class Kind { Text, Object, Array, Other };
    Kind kind = Kind::Other;
    std::string text;
    std::map<std::string, Json> members;
    std::vector<Json> items;

    /** Null when there is no such member. */
    const Json* member(const std::string& name) const;
};

/** False when the text is no JSON. */
bool parseJson(const std::string& text, Json* result);

}  // namespace mock::hccl

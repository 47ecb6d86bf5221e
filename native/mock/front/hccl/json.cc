#include "json.h"

#include <cctype>

namespace mock::hccl {

namespace {

class Parser {
public:
    explicit Parser(const std::string& text) : text_(text) {}

    bool document(Json* result) { return value(result) && (skip(), at_ == text_.size()); }

private:
    void skip() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }

    bool take(char wanted) {
        skip();
        if (at_ >= text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    bool string(std::string* result) {
        if (!take('"')) return false;
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] == '\\') ++at_;
            if (at_ < text_.size()) *result += text_[at_++];
        }
        return at_ < text_.size() && text_[at_++] == '"';
    }

    bool members(Json* result) {
        if (take('}')) return true;
        do {
            std::string name;
            if (!(skip(), string(&name)) || !take(':') || !value(&result->members[name])) return false;
        } while (take(','));
        return take('}');
    }

    bool items(Json* result) {
        if (take(']')) return true;
        do {
            result->items.emplace_back();
            if (!value(&result->items.back())) return false;
        } while (take(','));
        return take(']');
    }

    bool value(Json* result) {
        skip();
        if (take('{')) {
            result->kind = Json::Kind::Object;
            return members(result);
        }
        if (take('[')) {
            result->kind = Json::Kind::Array;
            return items(result);
        }
        if (at_ < text_.size() && text_[at_] == '"') {
            result->kind = Json::Kind::Text;
            return string(&result->text);
        }
        // Numbers and words are told from texts, and not looked at any closer.
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.' ||
                                      text_[at_] == '-' || text_[at_] == '+')) {
            result->text += text_[at_++];
        }
        return !result->text.empty();
    }

    const std::string& text_;
    size_t at_ = 0;
};

}  // namespace

const Json* Json::member(const std::string& name) const {
    auto found = members.find(name);
    return found == members.end() ? nullptr : &found->second;
}

bool parseJson(const std::string& text, Json* result) { return Parser(text).document(result); }

}  // namespace mock::hccl

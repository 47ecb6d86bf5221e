// The text of a thread's last failure, for vendors whose libraries hand one out.
#pragma once
#include <string>

namespace mock {

void explain(const std::string& text);
/** Takes the text away; empty when there is none. */
std::string takeExplanation();

}  // namespace mock

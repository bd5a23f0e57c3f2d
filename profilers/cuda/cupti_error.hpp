#pragma once
#include <cupti.h>
#include <string>

namespace attnprof::profilers::cuda {

/// What a refusal of CUPTI means on this host and what would help, as a sentence without its full stop.
std::string refusal_of(const char* call, CUptiResult code);

} // namespace attnprof::profilers::cuda

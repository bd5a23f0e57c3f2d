// Whether two runs were made by like builds on like machines. Pure.
#pragma once

#include "reports/result_set.hpp"

#include <string>
#include <vector>

namespace attnprof::cli {

/// What differs, each as "processor: A / B"; empty where both are alike or nothing is known of one. A newer version or
/// commit of this program is no difference, since that is what runs are compared for; compiler and build type are.
std::vector<std::string> differences(const reports::ResultSet& before, const reports::ResultSet& after);

} // namespace attnprof::cli

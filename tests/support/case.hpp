#pragma once
#include "operators/workload.hpp"

#include <string>

namespace attnprof::tests {

/// The configuration that a case id names, its defaults filled in.
inline operators::Config resolved(const std::string& id) {
  return operators::resolve(operators::parse_case_id(id));
}

} // namespace attnprof::tests

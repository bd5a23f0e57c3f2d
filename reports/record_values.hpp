#pragma once
#include "operators/core/param.hpp"
#include "profilers/record.hpp"

#include <string>
#include <string_view>

// Small questions to a record, asked in several rooms.
namespace attnprof::reports {

/// Has work and a time that can be divided by.
inline bool is_measured(const profilers::Record& record) {
  return record.status == profilers::Status::kOk && record.totals && record.measured &&
         record.measured->time_median_s && *record.measured->time_median_s > 0.0;
}

/// A parameter of its configuration as text; empty where it has none of that name.
inline std::string text_of(const profilers::Record& record, std::string_view name) {
  return operators::to_string(record.config.get(name));
}

/// Something is known of what bounds it.
inline bool is_known(const profilers::RoofVerdict& roof) {
  return roof.roof_time_s || !roof.bound.empty() || !roof.roof_level.empty();
}

} // namespace attnprof::reports

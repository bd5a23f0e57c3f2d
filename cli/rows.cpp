#include "cli/rows.hpp"

#include "cli/exit_code.hpp"
#include "cli/sweep_loop.hpp"
#include "reports/plausibility.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {

using profilers::Record;
using profilers::Status;

namespace {

bool is_unverified(const Record& record) {
  return record.status == Status::kOk && !record.max_relative_error;
}

} // namespace

std::string count_sentence(const std::vector<Record>& records) {
  std::vector<std::string> parts;
  for (const Status status :
       {Status::kOk, Status::kSkipped, Status::kUnsupported, Status::kInvalid, Status::kIncorrect, Status::kFailed}) {
    const auto count =
        std::count_if(records.begin(), records.end(), [&](const Record& r) { return r.status == status; });
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", count, profilers::name_of(status)));
    }
    const auto unverified = std::count_if(records.begin(), records.end(), is_unverified);
    if (status == Status::kOk && unverified > 0) {
      parts.back() += fmt::format(" ({} not verified)", unverified);
    }
  }
  return fmt::format("{} case{}{} {}", records.size(), records.size() == 1 ? "" : "s", parts.empty() ? "" : ":",
                     fmt::join(parts, ", "));
}

namespace {

bool is_broken(const Record& record) {
  return record.status == Status::kFailed || record.status == Status::kIncorrect;
}

} // namespace

int rows_exit_code(const std::vector<Record>& records, const Interrupt& interrupt) {
  if (interrupt.requested) {
    return kExitSignalBase + interrupt.signal;
  }
  const auto any = [&](const auto& holds) { return std::any_of(records.begin(), records.end(), holds); };
  const auto has = [&](Status status) { return any([&](const Record& record) { return record.status == status; }); };
  if (any(is_broken)) {
    return kExitRowFailed;
  }
  if (records.empty() || has(Status::kOk) || any(is_for_lack_of_time)) {
    return kExitOk;
  }
  // Nothing was measured, which no caller should take for a success.
  if (has(Status::kSkipped)) {
    return kExitRowFailed;
  }
  return has(Status::kUnsupported) ? kExitUnavailable : kExitUsage;
}

void name_rows(const std::vector<Record>& records, bool every, std::ostream& err) {
  constexpr int kMostNamed = 10;
  int named = 0;
  bool measured = records.empty();
  for (const Record& record : records) {
    measured = measured || record.status == Status::kOk;
    const bool worth_it = is_broken(record) || (every && record.status != Status::kOk);
    if (worth_it && ++named <= kMostNamed) {
      err << fmt::format("attnprof: {}: {}: {}\n", profilers::name_of(record.status), record.id, record.reason);
    }
  }
  if (named > kMostNamed) {
    err << fmt::format("attnprof: and {} more rows like these\n", named - kMostNamed);
  }
  if (!measured) {
    err << fmt::format("attnprof: no case was measured; the reason of the first: {}\n", records.front().reason);
  }
}

int implausible_exit_code(const std::vector<Record>& records, std::ostream& err) {
  constexpr int kMostNamed = 10;
  int found = 0;
  for (const Record& record : records) {
    const std::string reason = reports::implausible_reason(record);
    if (!reason.empty() && ++found <= kMostNamed) {
      err << fmt::format("attnprof: implausible: {}: {}\n", record.id, reason);
    }
  }
  if (found > kMostNamed) {
    err << fmt::format("attnprof: and {} more rows like these\n", found - kMostNamed);
  }
  return found == 0 ? kExitOk : kExitRegression;
}

std::string unverified_sentence(const std::vector<Record>& records) {
  const auto count = std::count_if(records.begin(), records.end(), is_unverified);
  return count == 0 ? std::string()
                    : fmt::format("attnprof: {} of {} rows were not checked against the float64 reference (their "
                                  "verified_by is empty); `attnprof verify` checks small ones of every kind\n",
                                  count, records.size());
}

} // namespace attnprof::cli

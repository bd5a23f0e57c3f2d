#include "cli/rows.hpp"

#include "cli/exit_code.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {

using profilers::Record;
using profilers::Status;

std::string count_sentence(const std::vector<Record>& records) {
  std::vector<std::string> parts;
  for (const Status status :
       {Status::kOk, Status::kSkipped, Status::kUnsupported, Status::kInvalid, Status::kIncorrect, Status::kFailed}) {
    const auto count =
        std::count_if(records.begin(), records.end(), [&](const Record& r) { return r.status == status; });
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", count, profilers::name_of(status)));
    }
  }
  return fmt::format("{} case{}{} {}", records.size(), records.size() == 1 ? "" : "s", parts.empty() ? "" : ":",
                     fmt::join(parts, ", "));
}

int rows_exit_code(const std::vector<Record>& records, const Interrupt& interrupt, std::ostream& err) {
  constexpr int kMostNamed = 10;
  int named = 0;
  bool broken = false;
  for (const Record& record : records) {
    const bool failed = record.status == Status::kFailed || record.status == Status::kIncorrect;
    broken = broken || failed;
    if (record.status != Status::kOk && !interrupt.requested && ++named <= kMostNamed) {
      err << fmt::format("attnprof: {}: {}: {}\n", profilers::name_of(record.status), record.id, record.reason);
    }
  }
  if (named > kMostNamed) {
    err << fmt::format("attnprof: and {} more rows that are not ok\n", named - kMostNamed);
  }
  if (interrupt.requested) {
    return kExitSignalBase + interrupt.signal;
  }
  return broken ? kExitRowFailed : kExitOk;
}

} // namespace attnprof::cli

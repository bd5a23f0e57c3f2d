#include "reports/writers/junit.hpp"

#include "reports/format.hpp"
#include "reports/verdict.hpp"

#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using profilers::Record;
using profilers::Status;

/// Element inside a testcase; empty for a case that ran well.
std::string outcome(const Record& record) {
  const std::string status(name_of(record.status));
  switch (record.status) {
  case Status::kOk: return {};
  case Status::kFailed:
  case Status::kIncorrect:
    return fmt::format("    <failure type=\"{}\" message=\"{}\"/>\n", status, escape_markup(record.reason));
  case Status::kSkipped:
  case Status::kUnsupported:
  case Status::kInvalid:
    return fmt::format("    <skipped message=\"{}\"/>\n", escape_markup(status + ": " + record.reason));
  }
  return {};
}

bool is_failure(const Record& record) {
  return record.status == Status::kFailed || record.status == Status::kIncorrect;
}

std::string testcase(const Record& record) {
  const auto time_s = record.measured ? record.measured->time_median_s : std::optional<double>();
  const std::string time = time_s ? fmt::format(" time=\"{}\"", exact(*time_s)) : "";
  const std::string head =
      fmt::format("  <testcase classname=\"attnprof\" name=\"{}\"{}", escape_markup(record.id), time);
  std::string body = outcome(record);
  if (!record.warnings.empty()) {
    body += "    <system-out>";
    for (const std::string& warning : record.warnings) {
      body += escape_markup(warning) + "\n";
    }
    body += "</system-out>\n";
  }
  return body.empty() ? head + "/>\n" : head + ">\n" + body + "  </testcase>\n";
}

} // namespace

std::string junit_xml(const ResultSet& results) {
  std::size_t failures = 0;
  std::size_t skipped = 0;
  std::string cases;
  for (const Record& record : results.records) {
    failures += is_failure(record) ? 1 : 0;
    skipped += record.status != Status::kOk && !is_failure(record) ? 1 : 0;
    cases += testcase(record);
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<testsuite name=\"attnprof\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n"
                     "{}</testsuite>\n",
                     results.records.size(), failures, skipped, cases);
}

} // namespace attnprof::reports

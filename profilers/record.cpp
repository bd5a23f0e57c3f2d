#include "profilers/record.hpp"

#include "operators/core/error.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::profilers {
namespace {

constexpr std::array kStatuses{Status::kOk,      Status::kSkipped,   Status::kUnsupported,
                               Status::kInvalid, Status::kIncorrect, Status::kFailed};

} // namespace

std::string_view name_of(Status status) {
  switch (status) {
  case Status::kOk: return "ok";
  case Status::kSkipped: return "skipped";
  case Status::kUnsupported: return "unsupported";
  case Status::kInvalid: return "invalid";
  case Status::kIncorrect: return "incorrect";
  case Status::kFailed: return "failed";
  }
  return "";
}

Status status_from_name(std::string_view name) {
  std::string known;
  for (const Status status : kStatuses) {
    if (name_of(status) == name)
      return status;
    known += fmt::format(" {}", name_of(status));
  }
  throw operators::Error(operators::ErrorKind::kUsage, fmt::format("'{}' is no status; they are:{}", name, known));
}

} // namespace attnprof::profilers

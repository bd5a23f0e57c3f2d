#include "bench/cases.hpp"

#include "operators/core/cost.hpp"

#include <iterator>

namespace attnprof::bench {

std::vector<Case> make_cases(const CaseRequest& request) {
  std::vector<Case> out = product_cases(request);
  for (std::vector<Case> more : {attention_cases(request), row_cases(request)}) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
  return out;
}

double amount_of(const Case& which) {
  const operators::Totals totals = operators::cost_of(which.launches).totals;
  if (which.limit == LimitKind::kFma || which.limit == LimitKind::kBf16) {
    // Attended pairs only: a kernel gains nothing by computing what the mask throws away.
    return 2.0 * static_cast<double>(totals.work.useful_macs.value());
  }
  if (which.limit == LimitKind::kRead) {
    return static_cast<double>(totals.bytes_read.value());
  }
  return static_cast<double>((totals.bytes_read + totals.bytes_written).value());
}

} // namespace attnprof::bench

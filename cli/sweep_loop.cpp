#include "cli/sweep_loop.hpp"

#include "cli/progress.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/format.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

namespace attnprof::cli {
namespace {

using profilers::Record;
using profilers::Status;

constexpr std::string_view kBudgetReason = "the time budget was used up before it began";
constexpr std::string_view kDeviceLost = "device_lost"; // how such a reason begins; another process has its own device
constexpr std::string_view kStoppedReason = "an earlier row failed, and --keep-going=false stops there";

class Sweep {
 public:
  Sweep(const SweepPlan& plan, RunFolder& folder, const SweepSettings& settings, const MeasureCase& measure,
        Context& context)
      : plan_(plan), folder_(folder), settings_(settings), measure_(measure), context_(context),
        begin_ns_(context.seams.clock->now_ns()) {
    for (const Record& record : folder.earlier) {
      if (is_final(record)) {
        finished_.emplace(record.id, &record);
      }
    }
  }

  std::vector<Record> run() {
    std::size_t to_do = 0;
    for (const PlannedCase& planned : plan_.cases) {
      to_do += finished_.contains(planned.id) ? 0 : 1;
    }
    Progress progress(context_.err, context_.seams.err_is_terminal, context_.seams.terminal_columns, to_do,
                      *context_.seams.clock);
    if (!folder_.earlier.empty()) {
      progress.note(resumed_sentence(plan_.cases.size() - to_do));
    }
    std::vector<Record> records;
    left_ = to_do;
    for (const PlannedCase& planned : plan_.cases) {
      if (const auto found = finished_.find(planned.id); found != finished_.end()) {
        records.push_back(*found->second);
        continue;
      }
      progress.begin(planned.id);
      records.push_back(record_of(planned));
      --left_;
      append(records.back());
      progress.end(line_of(records.back()));
      const Status status = records.back().status;
      stopped_ = stopped_ || (!settings_.keep_going && (status == Status::kFailed || status == Status::kIncorrect));
    }
    progress.finish();
    return records;
  }

 private:
  Record record_of(const PlannedCase& planned) const {
    if (!planned.rejection.empty()) {
      return rejected_record(planned, Status::kInvalid, planned.rejection);
    }
    const std::string_view reason = reason_to_skip();
    return reason.empty() ? measure_(planned, share_s())
                          : rejected_record(planned, Status::kSkipped, std::string(reason));
  }

  /// Another flag of the workload, --threads too, makes other cases: the rows of the earlier ones stay beside theirs.
  std::string resumed_sentence(std::size_t there) const {
    std::set<std::string_view> planned;
    for (const PlannedCase& one : plan_.cases) {
      planned.insert(one.id);
    }
    const std::string* example = nullptr;
    std::size_t others = 0;
    for (const Record& record : folder_.earlier) {
      if (!planned.contains(record.id)) {
        example = others++ == 0 ? &record.id : example;
      }
    }
    std::string out = fmt::format("{} of {} rows are already there", there, plan_.cases.size());
    if (others > 0) {
      out +=
          fmt::format("; {} of other cases {} beside them, as of '{}'",
                      others == 1 ? "1 row" : fmt::format("{} rows", others), others == 1 ? "stays" : "stay", *example);
    }
    return out;
  }

  void append(const Record& record) const {
    const profilers::PhaseClock::Scope scope(settings_.phases, profilers::Phase::kRecords);
    folder_.writer.append(record);
  }

  std::string_view reason_to_skip() const {
    if (context_.seams.interrupt->requested) {
      return kInterruptedReason;
    }
    if (stopped_) {
      return kStoppedReason;
    }
    return settings_.budget_s && elapsed_s() >= *settings_.budget_s ? kBudgetReason : std::string_view();
  }

  double elapsed_s() const { return profilers::seconds_between(begin_ns_, context_.seams.clock->now_ns()); }

  std::optional<double> share_s() const {
    if (!settings_.shared_s) {
      return std::nullopt;
    }
    return std::max(0.0, *settings_.shared_s - elapsed_s()) / static_cast<double>(std::max<std::size_t>(left_, 1));
  }

  static std::string line_of(const Record& record) {
    return record.status == Status::kOk
               ? reports::result_line(record)
               : fmt::format("{}: {} ({})", profilers::name_of(record.status), record.id, record.reason);
  }

  const SweepPlan& plan_;
  RunFolder& folder_;
  const SweepSettings& settings_;
  const MeasureCase& measure_;
  Context& context_;
  std::int64_t begin_ns_;
  std::map<std::string, const Record*, std::less<>> finished_;
  std::size_t left_ = 0; ///< cases without a record, the one that is measured included
  bool stopped_ = false;
};

/// `fault` says what was wrong with the output, where there was any.
std::string ending_of(const ChildResult& child, double timeout_s, const std::string& fault) {
  if (child.timed_out) {
    return fmt::format("its process was ended after {} without a result; raise --timeout or use smaller sizes",
                       reports::seconds(timeout_s));
  }
  if (child.exit_code > 128) {
    const int signal = child.exit_code - 128;
    return fmt::format("its process was ended by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("its process ended with exit code {} and no record{}{}", child.exit_code,
                     fault.empty() ? "" : ": ", fault);
}

} // namespace

bool is_for_lack_of_time(const Record& record) {
  return record.status == Status::kSkipped && record.reason == kBudgetReason;
}

bool is_final(const Record& record) {
  constexpr std::array<std::string_view, 3> kPassing = {kInterruptedReason, kBudgetReason, kStoppedReason};
  const bool passes = std::find(kPassing.begin(), kPassing.end(), record.reason) != kPassing.end() ||
                      record.reason.starts_with(kDeviceLost);
  return record.status != Status::kSkipped || !passes;
}

std::vector<Record> run_sweep(const SweepPlan& plan, RunFolder& folder, const SweepSettings& settings,
                              const MeasureCase& measure, Context& context) {
  return Sweep(plan, folder, settings, measure, context).run();
}

Record measure_isolated(const PlannedCase& planned, const std::vector<std::string>& measuring_args, double timeout_s,
                        Seams& seams) {
  std::vector<std::string> args = {"run", planned.id, "--json"};
  args.insert(args.end(), measuring_args.begin(), measuring_args.end());
  const ChildResult child = seams.run_self(args, timeout_s);
  std::string fault;
  if (!child.timed_out && child.exit_code <= 128) {
    try {
      std::vector<Record> records =
          reports::records_from_document(reports::parse_json(child.out, "the case's process"));
      if (records.size() == 1 && records.front().id == planned.id) {
        return std::move(records.front());
      }
      fault = fmt::format("its output holds {} records, and not that of this case", records.size());
    } catch (const operators::Error& error) {
      fault = child.out.empty() ? "it printed nothing" : error.what();
    }
  }
  if (seams.interrupt->requested) {
    return rejected_record(planned, Status::kSkipped, std::string(kInterruptedReason));
  }
  Record out = rejected_record(planned, Status::kFailed, ending_of(child, timeout_s, fault));
  try {
    out.totals = cost_case(planned).record.totals;
  } catch (const operators::Error& error) {
    out.status = Status::kInvalid;
    out.reason = error.what();
  }
  return out;
}

} // namespace attnprof::cli

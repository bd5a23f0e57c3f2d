#include "reports/writers/trace.hpp"

#include "operators/core/error.hpp"
#include "reports/concurrent.hpp"
#include "reports/record_json.hpp"

#include <algorithm>

namespace attnprof::reports {
namespace {

using profilers::Record;

constexpr double kMicroseconds = 1e6; // the unit of ts and dur

std::vector<std::string> parts_of(const std::string& scope) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= scope.size()) {
    const std::size_t end = std::min(scope.find('/', begin), scope.size());
    out.push_back(scope.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool has_launch_times(const Record& record) {
  return !record.launches.empty() && std::all_of(record.launches.begin(), record.launches.end(),
                                                 [](const auto& launch) { return launch.time_median_s.has_value(); });
}

class Track {
 public:
  Track(Json& events, std::int64_t process) : events_(events), process_(process) {}

  void add(const Record& record) {
    events_.push_back(
        {{"ph", "M"}, {"pid", process_}, {"tid", 1}, {"name", "process_name"}, {"args", {{"name", record.id}}}});
    events_.push_back({{"ph", "M"},
                       {"pid", process_},
                       {"tid", 1},
                       {"name", "thread_name"},
                       {"args", {{"name", "launches, medians of single launches laid end to end"}}}});
    for (std::size_t i = 0; i < record.launches.size(); ++i) {
      const profilers::LaunchRecord& launch = record.launches[i];
      std::vector<std::string> parts = parts_of(launch.cost.scope);
      const std::string leaf = parts.back();
      parts.pop_back();
      enter(parts);
      slice(leaf, now_us_, *launch.time_median_s * kMicroseconds, launch.cost.op, arguments(record, i));
      now_us_ += *launch.time_median_s * kMicroseconds;
    }
    enter({});
  }

 private:
  struct Open {
    std::string name;
    double begin_us;
    std::size_t event; ///< its place, filled in when it ends: parents stand before their children
  };

  void slice(const std::string& name, double begin_us, double duration_us, const std::string& category, Json args) {
    events_.push_back({{"ph", "X"},
                       {"pid", process_},
                       {"tid", 1},
                       {"name", name},
                       {"cat", category},
                       {"ts", begin_us},
                       {"dur", duration_us},
                       {"args", std::move(args)}});
  }

  /// Ends the slices that the next launch is not inside of, and begins those that it is.
  void enter(const std::vector<std::string>& parts) {
    std::size_t common = 0;
    while (common < std::min(parts.size(), open_.size()) && open_[common].name == parts[common]) {
      ++common;
    }
    for (; open_.size() > common; open_.pop_back()) {
      events_[open_.back().event]["dur"] = now_us_ - open_.back().begin_us;
    }
    for (std::size_t i = common; i < parts.size(); ++i) {
      open_.push_back({parts[i], now_us_, events_.size()});
      slice(parts[i], now_us_, 0, "scope", Json::object());
    }
  }

  static Json arguments(const Record& record, std::size_t i) {
    const profilers::LaunchRecord& launch = record.launches[i];
    Json out = {{"scope", launch.cost.scope},
                {"shape", launch.cost.shape},
                {"kernel", launch.kernel_impl},
                {"flops", launch.cost.work.flops().value()},
                {"bytes", (launch.cost.bytes.read + launch.cost.bytes.written).value()}};
    if (i < record.launch_roofs.size()) {
      const profilers::RoofVerdict& roof = record.launch_roofs[i];
      out["bound"] = roof.bound.empty() ? Json() : Json(roof.bound);
      out["roof_level"] = roof.roof_level.empty() ? Json() : Json(roof.roof_level);
      out["roof_fraction"] = roof.roof_fraction ? Json(*roof.roof_fraction) : Json();
    }
    return out;
  }

  Json& events_;
  std::int64_t process_;
  double now_us_ = 0;
  std::vector<Open> open_;
};

} // namespace

std::string trace_json(const std::vector<Record>& records) {
  std::vector<const Record*> timed;
  for (const Record& record : records) {
    if (has_launch_times(record)) {
      timed.push_back(&record);
    }
  }
  if (timed.empty()) {
    throw operators::Error(operators::ErrorKind::kUsage,
                           "--trace has nothing to draw: no launch of any case was timed; measure with run or sweep");
  }
  const std::string head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  return joined_texts(head, timed.size(), usable_threads(),
                      [&](std::size_t i, std::string& text) {
                        Json events = Json::array();
                        Track(events, static_cast<std::int64_t>(i) + 1).add(*timed[i]);
                        const std::string list = json_text(events);
                        text.append(i == 0 ? "" : ",").append(list, 1, list.size() - 2); // without its brackets
                      })
      .append("]}\n");
}

} // namespace attnprof::reports

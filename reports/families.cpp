#include "reports/families.hpp"

#include "reports/record_values.hpp"
#include "reports/verdict.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <variant>

namespace attnprof::reports {
namespace {

using profilers::Record;

/// Parameters that say which phase a case is in and how long it is.
constexpr std::array<std::string_view, 5> kLengths = {"phase", "seq_len", "past_len", "kv_len", "grid"};
/// Parameters that belong to a layout.
constexpr std::array<std::string_view, 12> kLayoutParams = {"layout",  "depth",     "n_ffn",     "ffn",
                                                            "ffn_dim", "mlp_ratio", "expansion", "activation",
                                                            "kernel",  "skip",      "phi",       "reuse"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A record with those parameters alone that are not named, for its name.
template <std::size_t N>
Record without(const Record& record, const std::array<std::string_view, N>& names) {
  Record out;
  out.id = record.id;
  out.threads = record.threads;
  for (const auto& [name, value] : record.config.values()) {
    if (!contains(names, name)) {
      out.config.set(name, value);
    }
  }
  return out;
}

/// Threads and cache policy: what a time depends on besides the configuration.
std::string run_of(const Record& record) {
  return fmt::format("{}|{}", record.threads,
                     record.measured ? name_of(record.measured->cache_policy) : std::string_view());
}

/// What cases of one family share of their configuration, as one text.
template <std::size_t N>
std::string key_without(const Record& record, const std::array<std::string_view, N>& names) {
  std::string key;
  for (const auto& [name, value] : record.config.values()) {
    if (std::holds_alternative<std::monostate>(value) || contains(names, name)) {
      continue;
    }
    key.append("|").append(name).append("=").append(operators::to_string(value));
  }
  return key;
}

using Family = std::vector<std::size_t>;

/// Families in order of their first case, of the cases that are `wanted`. `counts_alone`: however they were run.
template <std::size_t N, class Wanted>
std::vector<Family> families(const std::vector<Record>& records, const std::array<std::string_view, N>& names,
                             Wanted wanted, bool counts_alone = false) {
  std::map<std::string, std::size_t> positions;
  std::vector<Family> out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (wanted(records[i])) {
      const auto [at, is_new] = positions.emplace(
          (counts_alone ? std::string() : run_of(records[i])) + key_without(records[i], names), out.size());
      if (is_new) {
        out.emplace_back();
      }
      out[at->second].push_back(i);
    }
  }
  return out;
}

/// What tells families from each other, in few words.
template <std::size_t N>
std::vector<std::string> names_of(const std::vector<Record>& records, const std::vector<Family>& found,
                                  const std::array<std::string_view, N>& names) {
  std::vector<Record> forms;
  for (const Family& family : found) {
    forms.push_back(without(records[family.front()], names));
  }
  return short_names(forms);
}

/// Prefill first, each phase by growing length.
std::tuple<bool, std::int64_t, std::int64_t> place_in_phase(const Record& record) {
  const bool decodes = text_of(record, "phase") == "decode";
  const std::int64_t past = record.config.integer_or("past_len", 0);
  const std::int64_t length = record.config.integer_or("seq_len", 0);
  return {decodes, decodes ? past : length, decodes ? length : past};
}

} // namespace

std::vector<std::pair<std::size_t, std::size_t>> plan_pairs(const std::vector<Record>& records) {
  static constexpr std::array<std::string_view, 1> kPlan = {"plan"};
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (const Family& family : families(records, kPlan, is_measured)) {
    const auto of_plan = [&](std::string_view plan) {
      return std::find_if(family.begin(), family.end(),
                          [&](std::size_t i) { return text_of(records[i], "plan") == plan; });
    };
    const auto eager = of_plan("eager");
    const auto fused = of_plan("fused");
    if (eager != family.end() && fused != family.end()) {
      out.emplace_back(*eager, *fused);
    }
  }
  return out;
}

std::vector<Trajectory> trajectories(const std::vector<Record>& records) {
  std::vector<Family> found = families(
      records, kLengths, [](const Record& record) { return is_measured(record) && !text_of(record, "phase").empty(); });
  for (Family& family : found) {
    std::stable_sort(family.begin(), family.end(), [&](std::size_t a, std::size_t b) {
      return place_in_phase(records[a]) < place_in_phase(records[b]);
    });
  }
  std::erase_if(found, [&](const Family& family) {
    return text_of(records[family.front()], "phase") == text_of(records[family.back()], "phase");
  });
  const std::vector<std::string> names = names_of(records, found, kLengths);
  std::vector<Trajectory> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    out.push_back({names[i], std::move(found[i])});
  }
  return out;
}

std::vector<CacheGrowth> cache_growth(const std::vector<Record>& records) {
  const std::vector<Family> found = families(
      records, kLengths, [](const Record& record) { return record.totals && record.totals->kv_cache_bytes > 0; }, true);
  const std::vector<std::string> names = names_of(records, found, kLengths);
  std::vector<CacheGrowth> out;
  for (std::size_t family = 0; family < found.size(); ++family) {
    CacheGrowth growth{names[family], {}};
    for (const std::size_t i : found[family]) {
      const operators::Config& config = records[i].config;
      growth.points.push_back({i, config.integer_or("past_len", 0) + config.integer_or("seq_len", 0),
                               records[i].totals->kv_cache_bytes.value()});
    }
    std::stable_sort(growth.points.begin(), growth.points.end(),
                     [](const CachePoint& a, const CachePoint& b) { return a.length < b.length; });
    growth.points.erase(std::unique(growth.points.begin(), growth.points.end(),
                                    [](const CachePoint& a, const CachePoint& b) { return a.length == b.length; }),
                        growth.points.end());
    out.push_back(std::move(growth));
  }
  return out;
}

std::string kernel_class(const std::string& op) {
  if (op == "matmul") {
    return "matrix products";
  }
  if (op == "attention") {
    return "fused attention";
  }
  if (op == "softmax") {
    return "softmax";
  }
  if (op == "conv2d" || op == "depthwise_conv2d" || op == "pool" || op == "channel_conv1d") {
    return "convolutions";
  }
  if (op == "layernorm") {
    return "norms";
  }
  return op == "copy" || op == "gather" ? "copies" : "element-wise";
}

std::optional<std::int64_t> attention_passes(const Record& record) {
  if (record.launches.empty()) {
    return {};
  }
  if (text_of(record, "layout") == "op" && text_of(record, "model").empty()) {
    return 1;
  }
  std::set<std::string> mixers;
  for (const profilers::LaunchRecord& launch : record.launches) {
    const std::string path = launch.cost.scope + "/";
    const std::size_t at = path.find("mixer/");
    if (at != std::string::npos && (at == 0 || path[at - 1] == '/')) {
      mixers.insert(path.substr(0, at));
    }
  }
  return static_cast<std::int64_t>(mixers.size());
}

std::vector<LayoutFamily> layout_families(const std::vector<Record>& records) {
  std::vector<Family> found = families(records, kLayoutParams, is_measured);
  const std::vector<std::string> names = names_of(records, found, kLayoutParams);
  std::vector<LayoutFamily> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Family& family = found[i];
    std::stable_sort(family.begin(), family.end(), [&](std::size_t a, std::size_t b) {
      return text_of(records[a], "layout") < text_of(records[b], "layout");
    });
    std::set<std::string> layouts;
    for (const std::size_t record : family) {
      layouts.insert(text_of(records[record], "layout"));
    }
    out.push_back({names[i], std::move(family), layouts.size()});
  }
  return out;
}

} // namespace attnprof::reports

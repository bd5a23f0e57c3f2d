// Short names of cases, from the parameters that tell them apart.
#include "operators/workload.hpp"
#include "reports/verdict.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>
#include <variant>

namespace attnprof::reports {
namespace {

using operators::Config;
using operators::ParamKind;
using operators::ParamSpec;
using profilers::Record;

/// Values that name themselves: "gqa", "fused"; others need their parameter.
bool names_itself(const ParamSpec& param) {
  static constexpr std::array<std::string_view, 10> kSelf = {"model", "layout", "variant", "phase",  "grid",
                                                             "dtype", "math",   "plan",    "device", "phi"};
  return std::find(kSelf.begin(), kSelf.end(), param.name) != kSelf.end();
}

/// "" where the value says nothing: absent, or a flag that is not set.
std::string part(const ParamSpec& param, const Config& config) {
  const operators::Value& known = config.get(param.name); // once: ten thousand configurations are in no cache
  if (std::holds_alternative<std::monostate>(known)) {
    return {};
  }
  if (param.kind == ParamKind::kFlag) {
    const bool* is_set = std::get_if<bool>(&known);
    return is_set != nullptr && *is_set ? param.name : std::string();
  }
  const std::string value = operators::to_string(known);
  if (param.name == "layout" && value == "op") {
    return {};
  }
  return names_itself(param) ? value : fmt::format("{}={}", param.name, value);
}

std::string join_parts(const std::vector<const ParamSpec*>& params, const Config& config) {
  std::vector<std::string> parts;
  for (const ParamSpec* param : params) {
    std::string text = part(*param, config);
    if (!text.empty()) {
      parts.push_back(std::move(text));
    }
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

/// Of one parameter in each record.
using Values = std::vector<const operators::Value*>;

/// Splits the groups by one more parameter; false where that tells nothing apart.
bool split(const Values& values, std::vector<std::size_t>& group_of) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> next;
  std::vector<std::size_t> refined;
  refined.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    refined.push_back(
        next.emplace(std::pair(group_of[i], operators::to_string(*values[i])), next.size()).first->second);
  }
  const std::size_t before = group_of.empty() ? 0 : *std::max_element(group_of.begin(), group_of.end());
  const bool tells_apart = next.size() > before + 1;
  if (tells_apart) {
    group_of = std::move(refined);
  }
  return tells_apart;
}

/// Names of the parameters that are not the same in all records. Most are, and looking each of them up in ten thousand
/// records is slow, so that the configurations are gone through side by side.
std::set<std::string, std::less<>> varying_params(const std::vector<Record>& records) {
  std::set<std::string, std::less<>> out;
  const auto note = [&](const std::string& name, const operators::Value& value) {
    if (!std::holds_alternative<std::monostate>(value)) {
      out.insert(name);
    }
  };
  for (const Record& record : records) {
    const auto& first = records.front().config.values();
    auto known = first.begin();
    for (const auto& [name, value] : record.config.values()) {
      for (; known != first.end() && known->first < name; ++known) {
        note(known->first, known->second);
      }
      if (known == first.end() || known->first != name) {
        note(name, value);
      } else {
        if (known->second != value) {
          out.insert(name);
        }
        ++known;
      }
    }
    for (; known != first.end(); ++known) {
      note(known->first, known->second);
    }
  }
  return out;
}

std::string workload_name(const Record& record) {
  std::vector<const ParamSpec*> params;
  for (const ParamSpec& param : operators::all_params()) {
    if (operators::names_workload(param.name)) {
      params.push_back(&param);
    }
  }
  const std::string name = join_parts(params, record.config);
  return name.empty() ? record.id : name;
}

} // namespace

std::vector<std::string> telling_params(const std::vector<Record>& records) {
  const auto varying = varying_params(records);
  std::vector<const ParamSpec*> params;
  for (const ParamSpec& param : operators::all_params()) {
    if (varying.contains(param.name) || operators::names_workload(param.name)) {
      params.push_back(&param);
    }
  }
  // All of a record at once: ten thousand configurations are in no cache.
  std::vector<Values> values(params.size());
  for (const Record& record : records) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      values[i].push_back(&record.config.get(params[i]->name));
    }
  }
  std::vector<std::size_t> group_of(records.size(), 0);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < params.size(); ++i) {
    // The workload is always told: a name such as "seq_len=196" alone would not say of what.
    const bool is_told = operators::names_workload(params[i]->name) &&
                         std::any_of(values[i].begin(), values[i].end(), [](const operators::Value* value) {
                           return !std::holds_alternative<std::monostate>(*value);
                         });
    if ((varying.contains(params[i]->name) && split(values[i], group_of)) || is_told) {
      out.push_back(params[i]->name);
    }
  }
  return out;
}

std::vector<std::string> short_names(const std::vector<Record>& records, const std::vector<std::size_t>& which) {
  std::vector<const ParamSpec*> telling;
  for (const std::string& name : telling_params(records)) {
    telling.push_back(&operators::find_param(name));
  }
  std::vector<std::string> out;
  out.reserve(which.size());
  for (const std::size_t i : which) {
    std::string name = join_parts(telling, records[i].config);
    out.push_back(name.empty() ? records[i].id : std::move(name));
  }
  return out;
}

std::vector<std::string> short_names(const std::vector<Record>& records) {
  std::vector<std::size_t> all(records.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return short_names(records, all);
}

std::string short_name(const Record& record) {
  static constexpr std::array<std::string_view, 9> kSizes = {"phase", "batch", "seq_len", "past_len", "grid",
                                                             "dim",   "heads", "depth",   "plan"};
  std::string out = workload_name(record);
  for (const ParamSpec& param : operators::all_params()) {
    const bool is_size = std::find(kSizes.begin(), kSizes.end(), param.name) != kSizes.end();
    const bool is_grid_too = param.name == "seq_len" && record.config.has("grid");
    const bool is_unusual = param.name == "causal" || param.name == "folded" ||
                            ((param.name == "dtype" || param.name == "math") && record.config.has(param.name) &&
                             record.config.get(param.name) != param.fallback);
    if ((is_size && !is_grid_too) || is_unusual) {
      const std::string text = part(param, record.config);
      const bool is_plain = text == "prefill" || text == "batch=1" || text == "depth=1";
      out += text.empty() || is_plain ? "" : " " + text;
    }
  }
  return out;
}

} // namespace attnprof::reports

#include "cli/equalise.hpp"

#include "cli/axis.hpp"
#include "operators/core/cost.hpp"
#include "operators/core/error.hpp"
#include "operators/core/plan.hpp"
#include "operators/core/registry.hpp"
#include "operators/workload.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace attnprof::cli {
namespace {

using operators::Config;
using operators::Error;
using operators::ErrorKind;

constexpr Equal kAll[] = {Equal::kDepth, Equal::kFlops, Equal::kParams, Equal::kLatency};
/// Larger networks are no comparison any more.
constexpr std::int64_t kMostSteps = 1 << 14;

std::optional<operators::Graph> launches_of(const Config& resolved) {
  try {
    return operators::plan_launches(operators::build(resolved), resolved.text("plan"));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInvalid || error.kind() == ErrorKind::kOverflow) {
      return std::nullopt;
    }
    throw;
  }
}

/// What was given: parameters that come back by themselves follow from the others.
Config without_derived(const Config& resolved, const std::string& knob) {
  Config out = resolved;
  for (const auto& [name, value] : resolved.values()) {
    if (name == knob || operators::names_workload(name)) {
      continue;
    }
    Config fewer = out;
    fewer.erase(name);
    try {
      if (operators::resolve(fewer) == resolved) {
        out = std::move(fewer);
      }
    } catch (const Error&) {
      continue; // it cannot be left out
    }
  }
  return out;
}

/// Values of the quantity by steps of the knob, each asked for once.
class Search {
 public:
  Search(const Config& resolved, std::string knob, double target, const Quantity& quantity)
      : resolved_(resolved), given_(without_derived(resolved, knob)), knob_(std::move(knob)),
        step_(knob_step(resolved, knob_)), target_(target), quantity_(quantity) {}

  std::optional<double> at(std::int64_t steps) {
    const auto known = seen_.find(steps);
    if (known != seen_.end()) {
      return known->second;
    }
    std::optional<double> value;
    try {
      Config config = given_;
      config.set(knob_, steps * step_);
      value = quantity_(operators::resolve(config));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInvalid && error.kind() != ErrorKind::kOverflow) {
        throw;
      }
    }
    return seen_.emplace(steps, value && *value > 0 ? value : std::nullopt).first->second;
  }

  /// The first value from `steps` on in one direction that exists.
  std::optional<std::int64_t> next(std::int64_t steps, std::int64_t direction) {
    constexpr int kMostGaps = 256;
    for (int gap = 0; gap < kMostGaps && steps >= 1 && steps <= kMostSteps; ++gap, steps += direction) {
      if (at(steps)) {
        return steps;
      }
    }
    return std::nullopt;
  }

  std::optional<Equalised> best() const {
    const std::pair<const std::int64_t, std::optional<double>>* found = nullptr;
    const auto off = [&](const auto& one) { return std::abs(std::log(*one.second / target_)); };
    for (const auto& one : seen_) {
      if (one.second && (found == nullptr || off(one) < off(*found))) {
        found = &one;
      }
    }
    if (found == nullptr) {
      return std::nullopt;
    }
    Config config = given_;
    config.set(knob_, found->first * step_);
    return Equalised{operators::resolve(config), knob_,   resolved_.integer(knob_),
                     found->first * step_,       target_, *found->second};
  }

  double target() const { return target_; }
  std::int64_t start() const { return std::max<std::int64_t>(1, resolved_.integer(knob_) / step_); }

 private:
  const Config& resolved_;
  Config given_;
  std::string knob_;
  std::int64_t step_;
  double target_;
  const Quantity& quantity_;
  std::map<std::int64_t, std::optional<double>> seen_;
};

} // namespace

std::string_view name_of(Equal equal) {
  switch (equal) {
  case Equal::kDepth: return "depth";
  case Equal::kFlops: return "flops";
  case Equal::kParams: return "params";
  case Equal::kLatency: return "latency";
  }
  return {};
}

Equal equal_from(const std::string& text) {
  std::vector<std::string> known;
  for (const Equal equal : kAll) {
    if (name_of(equal) == text) {
      return equal;
    }
    known.emplace_back(name_of(equal));
  }
  const std::string near = operators::nearest_name(text, known);
  throw Error(ErrorKind::kUsage,
              fmt::format("--equal '{}' is not known{}; there are {}", text,
                          near.empty() ? "" : fmt::format(", did you mean '{}'?", near), fmt::join(known, ", ")));
}

std::int64_t knob_step(const Config& resolved, const std::string& knob) {
  return knob == "dim" ? std::max<std::int64_t>(1, resolved.integer_or("heads", 1)) : 1;
}

Config with_knob(const Config& resolved, const std::string& knob, std::int64_t value) {
  Config config = without_derived(resolved, knob);
  config.set(knob, value);
  return operators::resolve(config);
}

std::optional<Equalised> equalise(const Config& resolved, const std::string& knob, double target,
                                  const Quantity& quantity) {
  Search search(resolved, knob, target, quantity);
  auto low = search.next(1, 1);
  if (!low) {
    return std::nullopt;
  }
  auto high = low;
  while (*search.at(*high) < target) {
    const auto larger = search.next(2 * *high, 1);
    if (!larger) {
      return search.best();
    }
    low = high;
    high = larger;
  }
  while (*high - *low > 1) {
    const std::int64_t middle = *low + (*high - *low) / 2;
    auto between = search.next(middle, 1);
    if (!between || *between >= *high) {
      between = search.next(middle, -1);
    }
    if (!between || *between <= *low || *between >= *high) {
      break; // nothing can exist between them
    }
    (*search.at(*between) < target ? low : high) = between;
  }
  return search.best();
}

std::optional<Equalised> equalise_measured(const Config& resolved, const std::string& knob, double target,
                                           const Quantity& quantity, int most) {
  constexpr double kNearEnough = 0.01;
  Search search(resolved, knob, target, quantity);
  double exponent = knob == "dim" ? 2 : 1;
  std::int64_t at = search.start();
  std::optional<std::pair<double, double>> last; // steps and value
  std::set<std::int64_t> asked;
  for (int i = 0; i < most; ++i) {
    const auto possible = search.next(std::clamp<std::int64_t>(at, 1, kMostSteps), 1);
    if (!possible || !asked.insert(*possible).second) {
      break;
    }
    const auto steps = static_cast<double>(*possible);
    const double value = *search.at(*possible);
    if (std::abs(value / target - 1) < kNearEnough) {
      break;
    }
    if (last && last->first != steps) {
      exponent = std::clamp(std::log(value / last->second) / std::log(steps / last->first), 0.5, 4.0);
    }
    last = {steps, value};
    at = std::llround(steps * std::pow(target / value, 1 / exponent));
  }
  return search.best();
}

std::optional<double> sublayers_of(const Config& resolved) {
  const auto launches = launches_of(resolved);
  if (!launches) {
    return std::nullopt;
  }
  std::set<std::string> found;
  for (const operators::Op& op : launches->ops) {
    const std::size_t first = op.scope.find('/');
    const std::size_t second = first == std::string::npos ? first : op.scope.find('/', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string part = op.scope.substr(0, second);
    if (!part.ends_with("_dw")) {
      found.insert(part);
    }
  }
  return found.empty() ? std::nullopt : std::optional(static_cast<double>(found.size()));
}

std::optional<double> flops_of(const Config& resolved) {
  const auto launches = launches_of(resolved);
  return launches ? std::optional(static_cast<double>(operators::cost_of(*launches).totals.work.flops().value()))
                  : std::nullopt;
}

std::optional<double> params_of(const Config& resolved) {
  const auto launches = launches_of(resolved);
  return launches ? std::optional(static_cast<double>(operators::cost_of(*launches).totals.params.value()))
                  : std::nullopt;
}

} // namespace attnprof::cli

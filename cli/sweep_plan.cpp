#include "cli/sweep_plan.hpp"

#include "cli/axis.hpp"
#include "cli/where.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory_resource>
#include <random>
#include <regex>
#include <span>
#include <unordered_set>

namespace attnprof::cli {
namespace {

using operators::Config;
using operators::Error;
using operators::ErrorKind;
using operators::ParamSpec;
using operators::Value;

const Axis* find_axis(const std::vector<Axis>& axes, std::string_view name) {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

std::string label_of(const Config& workload) {
  std::vector<std::string> parts;
  for (const std::string_view name : operators::kWorkloadNames) {
    if (workload.has(name)) {
      parts.push_back(fmt::format("--{} {}", name, workload.text(name)));
    }
  }
  return parts.empty() ? "--variant mha" : fmt::format("{}", fmt::join(parts, " "));
}

/// --variant is taken by every layout with a mixer, which descriptors state in a field of its own.
std::string takers(std::string_view name) {
  if (name != "variant" && name != "layout") {
    return operators::takers_of(name);
  }
  std::vector<std::string> names;
  for (const operators::LayoutDescriptor& layout : operators::layouts()) {
    if (layout.takes_variant || name == "layout") {
      names.push_back(layout.name);
    }
  }
  return fmt::format("layouts {}", fmt::join(names, ", "));
}

/// A workload before its sizes: model, or layout and variant, or a whole id.
struct Workload {
  Config base;
  bool from_id = false;
};

/// One config for each value of the axis, or the config itself where there is no axis.
std::vector<Config> with_each(const std::vector<Config>& configs, const Axis* axis, bool only_where_taken) {
  if (axis == nullptr) {
    return configs;
  }
  std::vector<Config> out;
  for (const Config& config : configs) {
    if (only_where_taken && !operators::takes_param(config, axis->name)) {
      out.push_back(config);
      continue;
    }
    for (const Value& value : axis->values) {
      out.push_back(config);
      out.back().set(axis->name, value);
    }
  }
  return out;
}

class Planner {
 public:
  using Visit = std::function<void(PlannedCase&)>;

  explicit Planner(const PlanRequest& request) : request_(request) {}

  SweepPlan plan() {
    visit([&](PlannedCase& one) { plan_.cases.push_back(one); });
    shuffle();
    take_shard();
    return std::move(plan_);
  }

  /// In the order of the axes, all shards. Nothing is handed over before a case is known to be possible.
  void visit(const Visit& visit) {
    visit_ = &visit;
    compile_conditions();
    collect_workloads();
    check_every_axis_applies();
    check_size();
    for (const Workload& workload : workloads_) {
      expand(workload);
    }
    if (!any_valid_) {
      throw impossible_.empty() ? Error(ErrorKind::kUsage, no_match()) : all_rejected();
    }
  }

 private:
  /// What was asked for wins over the default.
  const Axis* axis_of(std::string_view name, bool with_defaults) const {
    const Axis* asked = find_axis(request_.axes, name);
    return asked != nullptr || !with_defaults ? asked : find_axis(request_.default_axes, name);
  }

  void collect_workloads() {
    if (!request_.ids.empty()) {
      for (const Axis& axis : request_.axes) {
        if (operators::names_workload(axis.name)) {
          throw Error(ErrorKind::kUsage,
                      fmt::format("--{} cannot be given with a case id, which names its workload itself", axis.name));
        }
      }
      for (const Config& id : request_.ids) {
        workloads_.push_back({id, true});
      }
      return;
    }
    std::vector<Config> configs{Config()};
    if (const Axis* models = axis_of("model", true)) {
      configs = with_each(configs, models, false);
    } else {
      configs = with_each(configs, axis_of("layout", true), false);
      configs = with_each(configs, axis_of("variant", true), true);
    }
    for (const Config& config : configs) {
      check_names(config);
      const auto same = [&](const Workload& other) { return other.base == config; };
      if (std::none_of(workloads_.begin(), workloads_.end(), same)) {
        workloads_.push_back({config, false});
      }
    }
  }

  /// Unknown names are errors even where another value of the axis would have kept them from mattering.
  static void check_names(const Config& config) {
    operators::takes_param(config, "variant");
    operators::takes_param(config, "heads");
  }

  void check_every_axis_applies() const {
    for (const Axis& axis : request_.axes) {
      const auto applies = [&](const Workload& workload) {
        return workload.base.has(axis.name) || operators::takes_param(workload.base, axis.name);
      };
      if (std::any_of(workloads_.begin(), workloads_.end(), applies)) {
        continue;
      }
      const std::string who =
          workloads_.size() == 1 ? label_of(workloads_.front().base) : "any of the chosen workloads";
      throw Error(ErrorKind::kUsage, fmt::format("{} does not apply to {}; it is taken by {}",
                                                 operators::find_param(axis.name).flag(), who, takers(axis.name)));
    }
  }

  /// The axes that apply to a workload beside those that chose it, outermost first.
  std::vector<const Axis*> axes_for(const Workload& workload) const {
    std::vector<const Axis*> axes;
    for (const ParamSpec& spec : operators::all_params()) {
      const Axis* axis = operators::names_workload(spec.name) ? nullptr : axis_of(spec.name, !workload.from_id);
      if (axis != nullptr && operators::takes_param(workload.base, spec.name)) {
        axes.push_back(axis);
      }
    }
    return axes;
  }

  void check_size() {
    double total = 0.0; // no product of sizes overflows it
    for (const Workload& workload : workloads_) {
      double cases = 1.0;
      for (const Axis* axis : axes_for(workload)) {
        cases *= static_cast<double>(axis->values.size());
      }
      total += cases;
    }
    if (total > static_cast<double>(kMaxCases)) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("the axes span {:.0f} cases, more than the {} that one sweep may have: use fewer values, or "
                      "several sweeps",
                      total, kMaxCases));
    }
    plan_.spanned = static_cast<std::size_t>(total);
    ids_.reserve(plan_.spanned);
  }

  void expand(const Workload& workload) {
    const std::vector<const Axis*> axes = axes_for(workload);
    std::vector<std::size_t> position(axes.size(), 0);
    Config given = workload.base;
    for (const Axis* axis : axes) {
      given.set(axis->name, axis->values.front());
    }
    const auto is_of_run = [](const Axis* axis) { return operators::is_of_run(axis->name); };
    const auto first_of_run =
        static_cast<std::size_t>(std::find_if_not(axes.rbegin(), axes.rend(), is_of_run).base() - axes.begin());
    const operators::Resolver resolver(given);
    resolver.check_taken(given);
    resolve(given, resolver);
    for (;;) {
      add();
      std::size_t i = axes.size();
      while (i > 0 && ++position[i - 1] == axes[i - 1]->values.size()) {
        position[--i] = 0;
      }
      if (i == 0) {
        return;
      }
      const std::size_t outermost = i - 1;
      for (std::size_t changed = outermost; changed < axes.size(); ++changed) {
        given.set(axes[changed]->name, axes[changed]->values[position[changed]]);
      }
      if (outermost >= first_of_run && one_.rejection.empty()) {
        run_otherwise(given, std::span(axes).subspan(outermost));
      } else {
        resolve(given, resolver);
      }
    }
  }

  /// Makes the case at hand another one by values of is_of_run() alone, so that nothing need be resolved again.
  void run_otherwise(const Config& given, std::span<const Axis* const> changed) {
    for (const Axis* axis : changed) {
      one_.config.set(axis->name, given.get(axis->name));
    }
    one_.id = case_ids_.of_other_run(one_.config);
  }

  void resolve(const Config& given, const operators::Resolver& resolver) {
    one_.rejection.clear();
    try {
      resolver.resolve(given, one_.config);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInvalid && error.kind() != ErrorKind::kOverflow) {
        throw;
      }
      one_.config = with_fallbacks(given);
      one_.rejection = error.what();
      if (!first_kind_) {
        first_kind_ = error.kind();
      }
    }
    one_.id = case_ids_.of(one_.config);
  }

  /// The case at hand, unless it is known already or not wanted.
  void add() {
    if (!ids_.emplace(std::string_view(one_.id)).second) {
      ++plan_.merged;
    } else if (selected(one_)) {
      hand_over(one_);
    } else {
      ++plan_.deselected;
    }
  }

  /// Cases that are impossible wait for the first that is possible.
  void hand_over(PlannedCase& one) {
    if (!any_valid_ && !one.rejection.empty()) {
      impossible_.push_back(one);
      return;
    }
    any_valid_ = true;
    for (PlannedCase& earlier : impossible_) {
      (*visit_)(earlier);
    }
    impossible_.clear();
    (*visit_)(one);
  }

  /// A rejected case was not completed; conditions on it still see the defaults that it would have had.
  static Config with_fallbacks(Config config) {
    for (const ParamSpec& spec : operators::all_params()) {
      if (!config.has(spec.name) && operators::takes_param(config, spec.name)) {
        config.set(spec.name, spec.fallback);
      }
    }
    return config;
  }

  bool selected(const PlannedCase& one) const {
    return (!where_ || where_->keeps(one.config)) && (!filter_ || std::regex_search(one.id, *filter_));
  }

  /// Before any case is looked at, so that a mistake is reported whatever the cases are.
  void compile_conditions() {
    if (request_.where) {
      where_.emplace(*request_.where, operators::all_params());
    }
    if (!request_.filter) {
      return;
    }
    try {
      filter_.emplace(*request_.filter, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& error) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--filter '{}' is not a regular expression: {}", *request_.filter, error.what()));
    }
  }

  std::string no_match() const {
    std::vector<std::string> conditions;
    if (request_.filter) {
      conditions.push_back(fmt::format("--filter '{}'", *request_.filter));
    }
    if (request_.where) {
      conditions.push_back(fmt::format("--where '{}'", *request_.where));
    }
    return fmt::format("no case matches {}: all {} of the plan are left out; `attnprof sweep --dry-run` without it "
                       "lists them",
                       fmt::join(conditions, " and "), plan_.deselected);
  }

  Error all_rejected() const {
    const std::string& reason = impossible_.front().rejection;
    const ErrorKind kind = first_kind_.value_or(ErrorKind::kInvalid);
    return impossible_.size() == 1 ? Error(kind, reason)
                                   : Error(kind, fmt::format("none of the {} cases is possible; the first: {}",
                                                             impossible_.size(), reason));
  }

  /// Fisher-Yates by hand: std::shuffle may order differently from one library to the next, and shards on two machines
  /// must agree.
  void shuffle() {
    if (!request_.shuffle_seed) {
      return;
    }
    std::mt19937_64 random(*request_.shuffle_seed);
    for (std::size_t i = plan_.cases.size(); i > 1; --i) {
      std::swap(plan_.cases[i - 1], plan_.cases[random() % i]);
    }
  }

  /// Round-robin, so that every shard gets its part of the large cases, which axes put side by side.
  void take_shard() {
    const auto count = static_cast<std::size_t>(request_.shard.count);
    if (count == 1) {
      return;
    }
    const std::size_t all = plan_.cases.size();
    std::vector<PlannedCase> mine;
    for (auto i = static_cast<std::size_t>(request_.shard.index - 1); i < all; i += count) {
      mine.push_back(std::move(plan_.cases[i]));
    }
    plan_.other_shards = all - mine.size();
    plan_.cases = std::move(mine);
  }

  const PlanRequest& request_;
  const Visit* visit_ = nullptr;
  PlannedCase one_;                     ///< the case at hand; what a visitor leaves of it is used for the next
  std::vector<PlannedCase> impossible_; ///< as long as no case is possible
  bool any_valid_ = false;
  std::vector<Workload> workloads_;
  operators::CaseIds case_ids_;
  std::pmr::monotonic_buffer_resource memory_; ///< of ids_, which only grow
  std::pmr::unordered_set<std::pmr::string> ids_{&memory_};
  std::optional<Where> where_;
  std::optional<std::regex> filter_;
  std::optional<ErrorKind> first_kind_;
  SweepPlan plan_;
};

Axis texts(std::string name, const std::vector<std::string>& values) {
  return {std::move(name), std::vector<Value>(values.begin(), values.end())};
}

} // namespace

SweepPlan plan_sweep(const PlanRequest& request) {
  return Planner(request).plan();
}

void for_each_case(const PlanRequest& request, const std::function<void(PlannedCase&)>& visit) {
  if (request.shard.count != 1 || request.shuffle_seed) {
    throw Error(ErrorKind::kInternal, "a shuffled or sharded plan cannot be handed over case by case");
  }
  Planner(request).visit(visit);
}

Axis both_plans() {
  return texts("plan", {"eager", "fused"});
}

namespace {

template <class Descriptor>
std::vector<std::string> names_in_default_sweep(const std::vector<Descriptor>& descriptors) {
  std::vector<std::string> names;
  for (const Descriptor& descriptor : descriptors) {
    if (descriptor.in_default_sweep) {
      names.push_back(descriptor.name);
    }
  }
  return names;
}

} // namespace

std::vector<Axis> default_sweep_axes() {
  // Two key heads for four query heads: with one, which is the default for four, gqa would be mqa.
  return {texts("layout", names_in_default_sweep(operators::layouts())),
          texts("variant", names_in_default_sweep(operators::variants())),
          texts("grid", {"14x14"}),
          Axis{"heads", {std::int64_t{4}}},
          Axis{"kv_heads", {std::int64_t{2}}},
          both_plans()};
}

} // namespace attnprof::cli

#include "cli/case_runner.hpp"
#include "cli/sweep_plan.hpp"
#include "cli/where.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <regex>
#include <set>

using namespace attnprof;
using cli::plan_sweep;
using cli::PlanRequest;
using cli::SweepPlan;
using operators::Error;
using operators::ErrorKind;

namespace {

/// "heads=1,2 variant=mha" as axes.
PlanRequest request(std::string_view text) {
  PlanRequest out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view part = text.substr(0, end);
    const std::size_t equals = part.find('=');
    out.axes.push_back(cli::parse_axis(operators::find_param(part.substr(0, equals)), part.substr(equals + 1)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string> column(const SweepPlan& plan, std::string_view name) {
  std::vector<std::string> out;
  for (const cli::PlannedCase& one : plan.cases) {
    out.push_back(operators::to_string(one.config.get(name)));
  }
  return out;
}

std::vector<std::string> ids(const SweepPlan& plan) {
  std::vector<std::string> out;
  for (const cli::PlannedCase& one : plan.cases) {
    out.push_back(one.id);
  }
  return out;
}

Error plan_refusal(const PlanRequest& request) {
  try {
    plan_sweep(request);
  } catch (const Error& error) {
    return error;
  }
  FAIL("planned");
  return Error(ErrorKind::kInternal, "");
}

bool says(const Error& error, std::string_view word) {
  return std::string_view(error.what()).find(word) != std::string_view::npos;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("plan: the first parameter of the list is the outermost axis, whatever the order of the flags") {
  const SweepPlan plan = plan_sweep(request("plan=eager,fused seq_len=64,32 variant=mha,mqa"));
  CHECK(column(plan, "variant") == Texts{"mha", "mha", "mha", "mha", "mqa", "mqa", "mqa", "mqa"});
  CHECK(column(plan, "seq_len") == Texts{"64", "64", "32", "32", "64", "64", "32", "32"});
  CHECK(column(plan, "plan") == Texts{"eager", "fused", "eager", "fused", "eager", "fused", "eager", "fused"});
  CHECK(plan.spanned == 8);
  CHECK(plan.merged == 0);
}

TEST_CASE("plan: ids are those of the resolved configurations and plan again to the same case") {
  const SweepPlan plan = plan_sweep(request("variant=gqa heads=4 dim=64 seq_len=8"));
  REQUIRE(plan.cases.size() == 1);
  CHECK(plan.cases[0].config == operators::resolve(plan.cases[0].config));
  PlanRequest again;
  again.ids = {operators::parse_case_id(plan.cases[0].id)};
  again.default_axes = cli::default_sweep_axes(); // say nothing to an id
  CHECK(ids(plan_sweep(again)) == ids(plan));
}

TEST_CASE("plan: a parameter that a workload does not take is left out for it, and equal cases merge") {
  const SweepPlan plan = plan_sweep(request("variant=mha,gqa kv_heads=1,2 heads=4 dim=64"));
  CHECK(column(plan, "variant") == Texts{"mha", "gqa", "gqa"});
  CHECK(column(plan, "kv_heads") == Texts{"", "1", "2"});
  const SweepPlan layouts = plan_sweep(request("layout=ffn,op variant=mha,mqa dim=64 heads=4"));
  CHECK(column(layouts, "layout") == Texts{"ffn", "op", "op"});
  CHECK(column(layouts, "variant") == Texts{"", "mha", "mqa"});
}

TEST_CASE("plan: values that resolve to the same case are one case") {
  // A width equal to dim/heads is the default.
  const SweepPlan plan = plan_sweep(request("variant=cga heads=4 dim=64 qk_dim=16 v_dim=16"));
  PlanRequest two = request("variant=mha heads=4 dim=64 head_dim=16");
  CHECK(plan.cases.size() == 1);
  two.axes.push_back({"qk_dim", {std::int64_t{16}, std::int64_t{8}}});
  const SweepPlan merged = plan_sweep(two);
  CHECK(merged.cases.size() == 2);
  two.axes.back().values = {std::int64_t{16}};
  CHECK(plan_sweep(two).cases[0].id == plan_sweep(request("variant=mha heads=4 dim=64")).cases[0].id);
}

TEST_CASE("plan: a flag that no chosen workload takes names itself and its takers") {
  const Error error = plan_refusal(request("variant=mha chunk=64"));
  CHECK(error.kind() == ErrorKind::kUsage);
  CHECK(says(error, "--chunk"));
  CHECK(says(error, "--variant mha"));
  const Error kv = plan_refusal(request("variant=mha,cga kv_heads=2"));
  CHECK(says(kv, "--kv-heads"));
  CHECK(says(kv, "gqa"));
  CHECK(says(plan_refusal(request("layout=ffn variant=mha")), "--variant"));
  CHECK_NOTHROW(plan_sweep(request("layout=ffn,op variant=mha")));
}

TEST_CASE("plan: unknown names are usage errors with the nearest name (BUG-077)") {
  const Error error = plan_refusal(request("variant=mha,mhha"));
  CHECK(error.kind() == ErrorKind::kUsage);
  CHECK(says(error, "'mhha'"));
  CHECK(says(error, "mha"));
  CHECK(says(error, "cga")); // the known ones
  CHECK(says(plan_refusal(request("layout=sandwhich")), "sandwich"));
}

TEST_CASE("plan: an impossible combination is a rejected case among others and an error alone (R3)") {
  const SweepPlan plan = plan_sweep(request("variant=mha dim=192 heads=3,5,4"));
  REQUIRE(plan.cases.size() == 3);
  CHECK(plan.cases[0].rejection.empty());
  CHECK(plan.cases[1].rejection.find("--heads 5") != std::string::npos);
  CHECK(plan.cases[1].id.find("heads=5") != std::string::npos);
  CHECK(plan.cases[2].rejection.empty());

  const Error alone = plan_refusal(request("variant=mha dim=192 heads=5"));
  CHECK(alone.kind() == ErrorKind::kInvalid);
  CHECK(says(alone, "--heads 5"));
  const Error all = plan_refusal(request("variant=mha dim=192 heads=5,7"));
  CHECK(all.kind() == ErrorKind::kInvalid);
  CHECK(says(all, "none of the 2 cases"));
  CHECK(says(all, "--heads 5"));
}

TEST_CASE("plan: --where and --filter select, and an empty selection is an error") {
  PlanRequest where = request("variant=gqa heads=2,4 kv_heads=1,2,4 dim=64");
  where.where = "kv_heads<=heads";
  const SweepPlan plan = plan_sweep(where);
  CHECK(column(plan, "kv_heads") == Texts{"1", "2", "1", "2", "4"});
  CHECK(plan.deselected == 1);
  CHECK(plan.spanned == 6);

  // Conditions see the defaults of a case that could not be completed.
  PlanRequest defaults = request("variant=mha heads=3,5,7");
  defaults.where = "dim % heads == 0";
  CHECK(column(plan_sweep(defaults), "heads") == Texts{"3"});

  PlanRequest filter = request("variant=mha,mqa seq_len=32,64");
  filter.filter = "variant=mqa.*seq_len=64";
  CHECK(plan_sweep(filter).cases.size() == 1);
  filter.filter = "NOTHING";
  const Error nothing = plan_refusal(filter);
  CHECK(nothing.kind() == ErrorKind::kUsage);
  CHECK(says(nothing, "no case matches"));
  CHECK(says(nothing, "NOTHING"));
  filter.filter = "([";
  CHECK(says(plan_refusal(filter), "--filter '(['"));
}

TEST_CASE("plan: shards partition the plan in order") {
  const std::string axes = "variant=mha,mqa,gqa heads=4 dim=64 seq_len=8:64:8 plan=eager,fused";
  const Texts whole = ids(plan_sweep(request(axes)));
  REQUIRE(whole.size() == 48);
  for (const std::int64_t count : {1, 2, 5, 7, 48, 60}) {
    std::set<std::string> seen;
    std::size_t total = 0;
    std::size_t largest = 0;
    std::size_t smallest = whole.size();
    for (std::int64_t index = 1; index <= count; ++index) {
      PlanRequest part = request(axes);
      part.shard = {index, count};
      const SweepPlan plan = plan_sweep(part);
      CHECK(plan.cases.size() + plan.other_shards == whole.size());
      total += plan.cases.size();
      largest = std::max(largest, plan.cases.size());
      smallest = std::min(smallest, plan.cases.size());
      for (const std::string& id : ids(plan)) {
        seen.insert(id);
      }
    }
    CHECK(total == whole.size());
    CHECK(seen.size() == whole.size());
    CHECK(largest - smallest <= 1);
  }
}

TEST_CASE("plan: shuffling keeps the set and repeats with its seed") {
  PlanRequest shuffled = request("variant=mha seq_len=8:256:8");
  const Texts ordered = ids(plan_sweep(shuffled));
  shuffled.shuffle_seed = 1;
  const Texts first = ids(plan_sweep(shuffled));
  CHECK(first != ordered);
  CHECK(first == ids(plan_sweep(shuffled)));
  CHECK(std::set<std::string>(first.begin(), first.end()) == std::set<std::string>(ordered.begin(), ordered.end()));
  shuffled.shuffle_seed = 2;
  CHECK(first != ids(plan_sweep(shuffled)));
}

TEST_CASE("plan: axes override the values of an id, except its workload") {
  const SweepPlan plan = plan_sweep(request("variant=mha heads=4 dim=64"));
  PlanRequest again = request("threads=1 batch=2,3");
  again.ids = {operators::parse_case_id(plan.cases[0].id)};
  const SweepPlan changed = plan_sweep(again);
  CHECK(column(changed, "batch") == Texts{"2", "3"});
  CHECK(column(changed, "threads") == Texts{"1", "1"});
  PlanRequest other = request("variant=mqa");
  other.ids = again.ids;
  CHECK(says(plan_refusal(other), "--variant"));
}

TEST_CASE("plan: too many cases are refused before they are made") {
  const Error error = plan_refusal(request("variant=mha seq_len=1:10000:1 batch=1:11:1"));
  CHECK(error.kind() == ErrorKind::kUsage);
  CHECK(says(error, "110000"));
  CHECK(says(error, "100000"));
}

TEST_CASE("plan: defaults fill in only what was not asked for") {
  PlanRequest defaults = request("plan=fused");
  defaults.default_axes = cli::default_sweep_axes();
  const SweepPlan plan = plan_sweep(defaults);
  CHECK(plan.cases.size() == 21);
  for (const cli::PlannedCase& one : plan.cases) {
    INFO(one.id);
    CHECK(one.rejection.empty()); // the set of a newcomer's first sweep
    CHECK(one.config.text("plan") == "fused");
    if (one.config.text("variant") == "gqa") {
      CHECK(one.config.integer("kv_heads") == 2); // with 1 it would be mqa again
    }
  }
}

TEST_CASE("plan: the default sweep holds what the descriptors say") {
  const std::vector<cli::Axis> axes = cli::default_sweep_axes();
  const auto values_of = [&](const std::string& name) {
    for (const cli::Axis& axis : axes) {
      if (axis.name == name) {
        return axis.values;
      }
    }
    return std::vector<operators::Value>();
  };
  for (const operators::VariantDescriptor& variant : operators::variants()) {
    const auto values = values_of("variant");
    INFO(variant.name);
    CHECK((std::find(values.begin(), values.end(), operators::Value(variant.name)) != values.end()) ==
          variant.in_default_sweep);
  }
  CHECK(values_of("variant").size() == 7);
  CHECK(values_of("layout").size() == 3);
}

namespace {

/// A few values of each parameter, some of which contradict others.
const std::vector<std::pair<const char*, std::vector<const char*>>>& value_pool() {
  static const std::vector<std::pair<const char*, std::vector<const char*>>> kPool = {
      {"layout", {"op", "standard", "sandwich", "skipat"}},
      {"variant", {"mha", "gqa", "cga", "linear", "window", "flash"}},
      {"batch", {"1", "3"}},
      {"seq_len", {"16", "25", "64"}},
      {"grid", {"4x4", "5x5"}},
      {"dim", {"48", "64", "65"}},
      {"heads", {"2", "4", "5"}},
      {"kv_heads", {"1", "2", "3"}},
      {"qk_dim", {"8", "16"}},
      {"causal", {"true", "false"}},
      {"mlp_ratio", {"2", "4"}},
      {"depth", {"1", "2"}},
      {"dtype", {"f32", "bf16"}},
      {"math", {"f32", "tf32"}},
      {"plan", {"eager", "fused"}},
      {"device", {"cpu", "cuda"}},
      {"threads", {"1", "2"}}};
  return kPool;
}

PlanRequest random_request(std::mt19937& random) {
  PlanRequest out;
  for (const auto& [name, values] : value_pool()) {
    const bool chooses = std::string_view(name) == "layout" || std::string_view(name) == "variant";
    if (!chooses && random() % 3 != 0) {
      continue;
    }
    std::string list;
    std::vector<const char*> shuffled = values;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (const char* value : shuffled) {
      if (random() % 2 == 0) {
        list += (list.empty() ? "" : ",") + std::string(value);
      }
    }
    const operators::ParamSpec& spec = operators::find_param(name);
    out.axes.push_back(cli::parse_axis(spec, list.empty() ? values.front() : list));
  }
  if (random() % 4 == 0) {
    out.where = "dim%heads==0 && (plan=='fused' || batch<3)";
  }
  if (random() % 4 == 0) {
    out.filter = "variant=.*plan=eager|threads=2|mha";
  }
  return out;
}

bool is_selected(const PlanRequest& request, const operators::Config& config, const std::string& id) {
  return (!request.where || cli::Where(*request.where, operators::all_params()).keeps(config)) &&
         (!request.filter || std::regex_search(id, std::regex(*request.filter)));
}

/// Every combination of the axes that its workload takes, each resolved by itself and selected where it is possible;
/// the reason of an impossible one.
std::vector<std::pair<std::string, std::string>> one_by_one(const PlanRequest& request) {
  std::vector<operators::Config> given{operators::Config()};
  for (const operators::ParamSpec& spec : operators::all_params()) {
    const auto axis = std::find_if(request.axes.begin(), request.axes.end(),
                                   [&](const cli::Axis& each) { return each.name == spec.name; });
    if (axis == request.axes.end()) {
      continue;
    }
    std::vector<operators::Config> more;
    for (const operators::Config& config : given) {
      const bool taken = spec.name == "layout" || operators::takes_param(config, spec.name);
      for (std::size_t i = 0; i < (taken ? axis->values.size() : 1); ++i) {
        more.push_back(config);
        if (taken) {
          more.back().set(spec.name, axis->values[i]);
        }
      }
    }
    given = std::move(more);
  }
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::string> known;
  for (const operators::Config& config : given) {
    try {
      const operators::Config resolved = operators::resolve(config);
      const std::string id = operators::case_id(resolved);
      if (known.insert(id).second && is_selected(request, resolved, id)) {
        out.emplace_back(id, "");
      }
    } catch (const Error& error) {
      out.emplace_back("", error.what());
    }
  }
  return out;
}

} // namespace

TEST_CASE("a plan equals its combinations resolved one by one, and its cases handed over one at a time") {
  std::mt19937 random(4);
  int possible_plans = 0;
  for (int round = 0; round < 60; ++round) {
    const PlanRequest asked = random_request(random);
    SweepPlan plan;
    try {
      plan = plan_sweep(asked);
    } catch (const Error&) {
      continue; // nothing of it is possible, or an axis applies to nothing
    }
    ++possible_plans;
    std::vector<cli::PlannedCase> handed;
    cli::for_each_case(asked, [&](const cli::PlannedCase& one) { handed.push_back(one); });
    REQUIRE(handed.size() == plan.cases.size());
    for (std::size_t i = 0; i < handed.size(); ++i) {
      CHECK(handed[i].id == plan.cases[i].id);
      CHECK(handed[i].rejection == plan.cases[i].rejection);
      CHECK(handed[i].config == plan.cases[i].config);
    }
    std::vector<std::string> valid;
    std::set<std::string> reasons;
    for (const auto& [id, reason] : one_by_one(asked)) {
      if (reason.empty()) {
        valid.push_back(id);
      } else {
        reasons.insert(reason);
      }
    }
    std::vector<std::string> planned;
    std::set<std::string> rejections;
    for (const cli::PlannedCase& one : plan.cases) {
      if (one.rejection.empty()) {
        planned.push_back(one.id);
        CHECK(operators::resolve(operators::parse_case_id(one.id)) == one.config);
      } else {
        rejections.insert(one.rejection);
      }
    }
    CHECK(planned == valid);
    CHECK((asked.where || asked.filter || rejections == reasons));
  }
  CHECK(possible_plans > 20);
}

TEST_CASE("totals counted one case after another are those of each case alone") {
  const auto totals_or_fault = [](const auto& count) {
    try {
      return std::pair(std::optional<operators::Totals>(count()), std::string());
    } catch (const Error& error) {
      return std::pair(std::optional<operators::Totals>(), std::string(error.what()));
    }
  };
  std::mt19937 random(5);
  std::size_t cases = 0;
  for (int round = 0; round < 40; ++round) {
    PlanRequest asked = random_request(random);
    if (round % 8 == 0) { // some of these do not fit 64 bits
      asked.axes = request("variant=mha,linear batch=4000000000 seq_len=1k,400000000 heads=1 plan=eager,fused").axes;
      asked.where.reset();
      asked.filter.reset();
    }
    cli::TotalsCounter counter;
    try {
      cli::for_each_case(asked, [&](const cli::PlannedCase& one) {
        INFO(one.id << one.rejection);
        ++cases;
        CHECK(totals_or_fault([&] { return counter.count(one); }) ==
              totals_or_fault([&] { return *cli::cost_case(one).record.totals; }));
      });
    } catch (const Error&) {
      continue; // nothing of it is possible, or an axis applies to nothing
    }
  }
  CHECK(cases > 200);
}

TEST_CASE("a shuffled or sharded plan is not handed over one at a time") {
  PlanRequest asked = request("variant=mha heads=2,4 dim=64");
  const auto ignore = [](const cli::PlannedCase&) {};
  asked.shuffle_seed = 1;
  CHECK_THROWS_AS(cli::for_each_case(asked, ignore), Error);
  asked.shuffle_seed.reset();
  asked.shard = cli::parse_shard("1/2");
  CHECK_THROWS_AS(cli::for_each_case(asked, ignore), Error);
}

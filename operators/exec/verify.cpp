#include "operators/exec/verify.hpp"

#include "operators/core/plan.hpp"
#include "operators/exec/fill.hpp"
#include "operators/exec/golden.hpp"
#include "operators/workload.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attnprof::operators {

double relative_l2(std::span<const float> out, std::span<const double> ref) {
  if (out.size() != ref.size()) {
    return std::numeric_limits<double>::infinity();
  }
  const auto size = static_cast<Eigen::Index>(ref.size());
  const Eigen::Map<const Eigen::VectorXf> got(out.data(), size);
  const Eigen::Map<const Eigen::VectorXd> wanted(ref.data(), size);
  const double difference = (got.cast<double>() - wanted).squaredNorm();
  const double norm = wanted.squaredNorm();
  if (!std::isfinite(difference)) {
    return std::numeric_limits<double>::infinity();
  }
  return norm > 0.0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

namespace {

constexpr std::array<std::string_view, 2> kPlans = {"eager", "fused"};

/// Largest error over what the reference returned; the program has run.
double worst_error(const Program& program, const TensorValues& expected) {
  double worst = 0.0;
  for (const auto& [tensor, values] : expected) {
    worst = std::max(worst, relative_l2(program.read(tensor), values));
  }
  return worst;
}

} // namespace

double error_against_reference(Program& program, const Graph& launches, std::uint64_t seed) {
  return error_against(program, run_reference(launches, reference_inputs(launches, seed)));
}

double error_against(Program& program, const TensorValues& expected) {
  program.run();
  return worst_error(program, expected);
}

namespace {

/// Values of the graph's tensors from the file: weights of a single block may lack its prefix, and a cache of the file
/// holds the past tokens only.
TensorValues place(const GoldenCase& golden, const Graph& launches) {
  TensorValues values = reference_inputs(launches, 1);
  std::size_t used = 0;
  for (auto& [id, data] : values) {
    const Tensor& tensor = launches.tensor(id);
    if (tensor.role == TensorRole::kConstant) {
      continue;
    }
    const std::string short_name = tensor.name.starts_with("block0.") ? tensor.name.substr(7) : tensor.name;
    const auto found = golden.given.find(short_name);
    if (found == golden.given.end()) {
      throw Error(ErrorKind::kUsage, fmt::format("the file has no tensor '{}'", short_name));
    }
    ++used;
    const std::vector<double>& given = found->second.values;
    if (tensor.role == TensorRole::kCache) {
      const View past = dense_view(id, tensor.dims).slice(2, 0, tensor.position);
      if (past.elements() != static_cast<std::int64_t>(given.size())) {
        throw Error(ErrorKind::kUsage,
                    fmt::format("tensor '{}' has {} values, {} are needed", short_name, given.size(), past.shape()));
      }
      std::size_t i = 0;
      for_each_address(past, [&](std::int64_t address) { data[static_cast<std::size_t>(address)] = given[i++]; });
    } else if (given.size() != data.size()) {
      throw Error(ErrorKind::kUsage, fmt::format("tensor '{}' has {} values, shape {} needs {}", short_name,
                                                 given.size(), shape_of(tensor.dims), data.size()));
    } else {
      data = given;
    }
  }
  if (used != golden.given.size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the file gives {} tensors, the operator reads {}", golden.given.size(), used));
  }
  return values;
}

TensorValues expected_of(const GoldenCase& golden, const Graph& launches) {
  TensorValues out;
  for (const auto& [name, tensor] : golden.outputs) {
    const TensorId id = launches.find(name);
    if (id < 0 || launches.tensor(id).elements() != static_cast<std::int64_t>(tensor.values.size())) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("output '{}' of the file is none of the operator's, or of another size", name));
    }
    out[id] = tensor.values;
  }
  return out;
}

double worst_error(const TensorValues& got, const TensorValues& expected) {
  double worst = 0.0;
  for (const auto& [id, values] : expected) {
    std::vector<float> out;
    for (const double value : got.at(id)) {
      out.push_back(static_cast<float>(value));
    }
    worst = std::max(worst, relative_l2(out, values));
  }
  return worst;
}

double golden_error(const Executor& executor, const Graph& launches, const TensorValues& given,
                    const TensorValues& expected) {
  const std::unique_ptr<Program> program = executor.prepare(launches, {});
  for (const auto& [id, values] : given) {
    program->write(id, std::vector<float>(values.begin(), values.end()));
  }
  program->run();
  return worst_error(*program, expected);
}

void note(Verification& out, std::string_view executor, std::string_view plan, double error, double tolerance) {
  out.detail += fmt::format("{}{} {} {:.1e}", out.detail.empty() ? "" : ", ", executor, plan, error);
  if (!(error <= tolerance)) {
    out.detail += fmt::format(" > {:.1e}", tolerance);
    out.passed = false;
  }
}

} // namespace

Verification verify_golden(const std::filesystem::path& file, const std::vector<const Executor*>& executors) {
  const GoldenCase golden = read_golden(file);
  Verification out{golden.name, true, {}};
  try {
    for (const std::string_view plan : kPlans) {
      const Graph launches = plan_launches(build(golden.config), plan);
      const TensorValues given = place(golden, launches);
      const TensorValues expected = expected_of(golden, launches);
      note(out, "reference", plan, worst_error(run_reference(launches, given), expected), golden.tolerance_rel_l2);
      for (const Executor* executor : executors) {
        if (!executor->unsupported(launches)) {
          note(out, executor->name(), plan, golden_error(*executor, launches, given, expected),
               golden.tolerance_rel_l2);
        }
      }
    }
  } catch (const Error& fault) {
    throw Error(fault.kind(), fmt::format("golden file '{}': {}", file.string(), fault.what()));
  }
  return out;
}

Verification verify_case(const Config& config, const std::vector<const Executor*>& executors) {
  Verification out{case_id(config), true, {}};
  for (const std::string_view plan : kPlans) {
    const Graph launches = plan_launches(build(config), plan);
    for (const Executor* executor : executors) {
      if (const std::optional<std::string> reason = executor->unsupported(launches)) {
        out.detail +=
            fmt::format("{}{} {} unsupported: {}", out.detail.empty() ? "" : ", ", executor->name(), plan, *reason);
        continue;
      }
      ExecOptions options;
      options.math = product_math_of(config);
      const std::unique_ptr<Program> program = executor->prepare(launches, options);
      note(out, executor->name(), plan, error_against_reference(*program, launches, options.seed),
           tolerance_of(launches, options.math));
    }
  }
  return out;
}

namespace {

/// A mixer small enough for any layout; layouts without a mixer stand alone.
Config layout_sample(const LayoutDescriptor& layout, const std::string& sample) {
  std::string id = fmt::format("layout={}", layout.name);
  const bool has_variant = std::any_of(layout.fallbacks.begin(), layout.fallbacks.end(),
                                       [](const auto& fallback) { return fallback.first == "variant"; });
  if (layout.takes_variant && !has_variant) {
    id += ":variant=mha:heads=2";
  }
  Config config = parse_case_id(sample.empty() ? id : id + ":" + sample);
  if (layout.takes_variant) {
    config.set("dim", std::int64_t{8});
    config.set("grid", std::string("3x3"));
  }
  return resolve(config);
}

} // namespace

std::vector<Config> sample_cases() {
  std::vector<Config> out;
  for (const VariantDescriptor& variant : variants()) {
    for (const std::string& sample : variant.samples) {
      out.push_back(resolve(parse_case_id(fmt::format("variant={}:{}", variant.name, sample))));
    }
  }
  for (const LayoutDescriptor& layout : layouts()) {
    for (const std::string& sample : layout.samples) {
      out.push_back(layout_sample(layout, sample));
    }
  }
  for (const ModelDescriptor& model : miniature_models()) {
    for (const std::string& sample : model.samples) {
      out.push_back(resolve(parse_case_id(fmt::format("model={}:{}", model.name, sample))));
    }
  }
  return out;
}

} // namespace attnprof::operators

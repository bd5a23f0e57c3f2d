// Results do not depend on the number of threads, but for what docs/kernels.md says.
#include "operators/core/plan.hpp"
#include "operators/exec/executor.hpp"
#include "operators/exec/tolerance.hpp"
#include "operators/exec/verify.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstring>

using namespace attnprof::operators;

namespace {

/// Work that threads share: sizes at which each of three has rows of its own, and some of them remain.
std::vector<Config> large_cases() {
  std::vector<Config> out;
  const auto add = [&](const std::string& id) { out.push_back(resolve(parse_case_id(id))); };
  for (const VariantDescriptor& variant : variants()) {
    add("variant=" + variant.name + ":grid=14x14:dim=96:batch=2");
  }
  for (const LayoutDescriptor& layout : layouts()) {
    add("layout=" + layout.name + ":grid=14x14:dim=96");
  }
  for (const char* variant : {"mha", "gqa", "mqa"}) {
    for (const char* sizes : {":seq_len=300:causal=true", ":phase=decode:past_len=700"}) {
      add("variant=" + std::string(variant) + sizes + ":dim=128:heads=4");
    }
  }
  return out;
}

struct Result {
  std::vector<std::string> kernels;
  std::vector<std::vector<float>> tensors; ///< outputs and caches
};

Result run(const Graph& launches, int threads, Products products) {
  const auto program = make_cpu_executor()->prepare(launches, {threads, {}, 1, products});
  program->run();
  Result out{program->kernel_impls(), {}};
  for (std::size_t i = 0; i < launches.tensors.size(); ++i) {
    const TensorRole role = launches.tensors[i].role;
    if (role == TensorRole::kOutput || role == TensorRole::kCache) {
      out.tensors.push_back(program->read(static_cast<TensorId>(i)));
    }
  }
  return out;
}

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  return relative_l2(a, std::vector<double>(b.begin(), b.end()));
}

/// Kernels whose order of additions follows from where a thread's part ends: a core over few query rows, whose partial
/// softmaxes are merged, and products of few rows, which take as many panels of the weight at once as there are left.
bool adds_by_parts(const Result& result) {
  return std::any_of(result.kernels.begin(), result.kernels.end(), [](const std::string& name) {
    return name.find("decode") != std::string::npos || name.find("gemv") != std::string::npos;
  });
}

void check_threads(const Config& given, Products products) {
  for (const char* plan : {"eager", "fused"}) {
    for (const char* dtype : {"f32", "bf16"}) {
      Config config = given;
      config.set("dtype", std::string(dtype));
      const Graph launches = plan_launches(build(config), plan);
      if (make_cpu_executor()->unsupported(launches)) {
        continue;
      }
      const Result one = run(launches, 1, products);
      for (const int threads : {2, 3}) {
        INFO(case_id(config) << " plan " << plan << " threads " << threads);
        const Result several = run(launches, threads, products);
        REQUIRE(one.tensors.size() == several.tensors.size());
        const bool exact = one.kernels == several.kernels && !adds_by_parts(one);
        for (std::size_t i = 0; i < one.tensors.size(); ++i) {
          if (exact) {
            CHECK(equal_bits(one.tensors[i], several.tensors[i]));
          } else {
            CHECK(difference(several.tensors[i], one.tensors[i]) <= 0.5 * tolerance_of(launches));
          }
        }
      }
    }
  }
}

} // namespace

TEST_CASE("results of samples do not depend on the number of threads") {
  for (const Config& config : sample_cases()) {
    check_threads(config, Products::kByRule);
  }
}

TEST_CASE("results of larger cases do not depend on the number of threads") {
  for (const Config& config : large_cases()) {
    check_threads(config, Products::kByRule);
    check_threads(config, Products::kOwn);
  }
}

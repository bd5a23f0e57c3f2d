#pragma once
// For one case: the loops executed with a counting scalar do exactly the work that the cost visitor states, launch by
// launch, and touch exactly the bytes.
#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/counting_memory.hpp"

// After the counting scalar, so that its overloads are found by the templates.
#include "operators/kernels/reference/attention_loop.hpp"

namespace attnprof::tests {

inline void check_counts(const operators::Config& config, std::string_view plan) {
  using namespace operators;
  const Graph launches = plan_launches(build(config), plan);
  const Cost cost = cost_of(launches);
  testing::CountingMemory memory(launches);
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    const LaunchCost& stated = cost.launches[i];
    INFO(case_id(config) << " plan " << plan << " launch " << stated.scope << " " << stated.op << " " << stated.shape);
    memory.start_launch();
    std::visit([&](const auto& op) { reference::run_loop(op, memory); }, launches.ops[i].primitive);
    CHECK(memory.counts().macs == stated.work.macs.value());
    CHECK(memory.counts().vector_flops == stated.work.vector_flops.value());
    CHECK(memory.counts().transcendentals == stated.work.transcendentals.value());
    CHECK(memory.bytes_read() == stated.bytes.read.value());
    CHECK(memory.bytes_written() == stated.bytes.written.value());
    CHECK(memory.bytes_touched() == stated.bytes.working_set.value());
    CHECK(stated.work.useful_macs <= stated.work.macs);
  }
}

inline void check_counts_of_both_plans(const operators::Config& config) {
  check_counts(config, "eager");
  check_counts(config, "fused");
}

} // namespace attnprof::tests

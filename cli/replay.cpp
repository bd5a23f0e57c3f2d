#include "cli/replay.hpp"

#include "operators/core/error.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"

extern "C" {

// Not inlined, and with something to do after the call: the simulator watches its beginning and its end.
[[gnu::noinline]] void attnprof_counted_launch(attnprof::operators::Program& program, std::size_t index) {
  program.run_launch(index);
  asm volatile("" : : : "memory");
}
}

namespace attnprof::cli {

void replay(const PlannedCase& planned, std::int64_t runs, std::uint64_t seed, int threads,
            const operators::Executor& executor) {
  const operators::Graph launches =
      operators::plan_launches(operators::build(planned.config), planned.config.text("plan"));
  if (const auto reason = executor.unsupported(launches)) {
    throw operators::Error(operators::ErrorKind::kUnsupported, *reason);
  }
  operators::ExecOptions options;
  options.threads = threads;
  options.seed = seed;
  options.math = operators::product_math_of(planned.config);
  const std::unique_ptr<operators::Program> program = executor.prepare(launches, options);
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    program->run_launch(i);
  }
  for (std::int64_t run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < launches.ops.size(); ++i) {
      attnprof_counted_launch(*program, i);
    }
  }
}

} // namespace attnprof::cli

// Times single launches and small launch lists of the CPU executor in alternation with an FMA loop and a copy of the
// same size, and prints the ratio: on a shared machine only ratios of neighbours in time can be compared.
//   attnprof_kernel_bench [--threads N] [--isa NAME] [--dtype f32|bf16] [--samples N] [--cpu-time] [SUBSTRING...]
// --cpu-time counts the time that the calling thread ran: for one thread on a machine that is busy otherwise.
#include "operators/core/builder.hpp"
#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/exec/executor.hpp"
#include "operators/exec/threads.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <functional>

using namespace attnprof::operators;

namespace {

struct Arguments {
  int threads = 1;
  std::string isa;
  DType dtype = DType::kF32;
  int samples = 21;
  clockid_t clock = CLOCK_MONOTONIC;
  std::vector<std::string> filters;
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--threads" && has_value) {
      out.threads = std::atoi(argv[++i]);
    } else if (word == "--isa" && has_value) {
      out.isa = argv[++i];
    } else if (word == "--dtype" && has_value) {
      out.dtype = dtype_from_name(argv[++i]);
    } else if (word == "--samples" && has_value) {
      out.samples = std::atoi(argv[++i]);
    } else if (word == "--cpu-time") {
      out.clock = CLOCK_THREAD_CPUTIME_ID;
    } else {
      out.filters.push_back(word);
    }
  }
  return out;
}

double now_s(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

using Vec4 = float __attribute__((vector_size(16)));
using Vec8 = float __attribute__((vector_size(32)));
using Vec16 = float __attribute__((vector_size(64)));

// Twelve independent chains of fused multiply-adds: enough to hide the latency of every current processor.
template <class Vec>
[[gnu::always_inline]] inline double fma_chains(std::int64_t rounds) {
  Vec sums[12];
  for (int i = 0; i < 12; ++i) {
    sums[i] = Vec{} + static_cast<float>(i);
  }
  Vec a = Vec{} + 1.0000001F;
  Vec b = Vec{} + 1e-9F;
  for (std::int64_t r = 0; r < rounds; ++r) {
    asm volatile("" : "+x"(a), "+x"(b)); // not known to be constant
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) {
      sums[i] = sums[i] * a + b;
    }
  }
  Vec total = Vec{};
  for (int i = 0; i < 12; ++i) {
    total += sums[i];
  }
  return static_cast<double>(total[0]);
}

double chains_baseline(std::int64_t rounds) {
  return fma_chains<Vec4>(rounds);
}
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] double chains_avx2(std::int64_t rounds) {
  return fma_chains<Vec8>(rounds);
}
[[gnu::target("avx512f")]] double chains_avx512(std::int64_t rounds) {
  return fma_chains<Vec16>(rounds);
}
#endif

struct Peak {
  double (*run)(std::int64_t);
  int lanes;
};
Peak peak_of(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx2") {
    return {chains_avx2, 8};
  }
  if (isa == "avx512") {
    return {chains_avx512, 16};
  }
#endif
  return {chains_baseline, 4};
}

/// The limits that a case is compared with.
class Yardsticks {
 public:
  Yardsticks(const std::string& isa, const Arguments& arguments)
      : team_(arguments.threads), peak_(peak_of(isa)), clock_(arguments.clock) {}

  /// FLOP/s of all threads together.
  double fma_rate() {
    constexpr std::int64_t kRounds = 40'000;
    const double begin = now_s(clock_);
    team_.run([&](int) {
      // A visible use, so that the loop is not dropped.
      if (peak_.run(kRounds) == 42.0) {
        std::abort();
      }
    });
    return static_cast<double>(kRounds * 12 * 2 * peak_.lanes * team_.size()) / (now_s(clock_) - begin);
  }

  /// Bytes/s, read plus written, of a copy that moves this many bytes in total.
  double copy_rate(std::int64_t bytes) {
    const auto half = static_cast<std::size_t>(std::max<std::int64_t>(bytes / 2, 64 * team_.size()));
    if (memory_.size() < 2 * half + 8192) {
      memory_.assign(2 * half + 8192, 1);
    }
    const int repeats = static_cast<int>(std::max<std::int64_t>(1, (1 << 20) / std::max<std::int64_t>(bytes, 1)));
    const double begin = now_s(clock_);
    team_.run([&](int share) {
      const std::size_t shares = static_cast<std::size_t>(team_.size());
      const std::size_t from = half * static_cast<std::size_t>(share) / shares;
      const std::size_t to = half * static_cast<std::size_t>(share + 1) / shares;
      for (int i = 0; i < repeats; ++i) {
        std::memcpy(memory_.data() + half + 4160 + from, memory_.data() + from, to - from);
        asm volatile("" ::: "memory");
      }
    });
    return 2.0 * static_cast<double>(half) * repeats / (now_s(clock_) - begin);
  }

 private:
  ThreadTeam team_;
  Peak peak_;
  clockid_t clock_;
  std::vector<char> memory_;
};

struct Case {
  std::string name;
  bool by_flops; ///< compared with the FMA loop, else with a copy
  Graph graph;
};

using Build = std::function<void(GraphBuilder&)>;
Case make_case(const std::string& name, bool by_flops, DType dtype, const Build& build) {
  GraphBuilder builder(dtype);
  build(builder);
  return {name, by_flops, builder.take()};
}

void finish(GraphBuilder& builder, const View& view) {
  builder.mark_output(view, "out");
}

Case product(const std::string& name, DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool gelu = false) {
  Case out = make_case(name, m > 4, dtype, [&](GraphBuilder& b) {
    finish(b, b.linear("p", b.input("x", {m, k}), b.weight("w", {k, n}), b.weight("bias", {n})));
  });
  if (gelu) {
    std::get<MatMul>(out.graph.ops[0].primitive).epilogue.push_back({StepFn::kGelu, 0.0, {}, {}});
  }
  return out;
}

Case batched(const std::string& name, DType dtype, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
             bool transposed) {
  return make_case(name, m > 4, dtype, [&](GraphBuilder& b) {
    const View right = transposed ? b.input("b", {batch, n, k}).transpose(1, 2) : b.input("b", {batch, k, n});
    finish(b, b.matmul("p", b.input("a", {batch, m, k}), right));
  });
}

/// The core over heads beside each other, as projections leave them. The eager plan copies them apart first, as
/// frameworks do; the fused plan is what the tool makes of the same graph.
Case attention(const std::string& name, DType dtype, const std::string& plan, std::int64_t heads, std::int64_t kv_heads,
               std::int64_t n_q, std::int64_t n_k, std::int64_t width, bool causal) {
  Case out = make_case(name + " " + plan, n_q > 4, dtype, [&](GraphBuilder& b) {
    const auto split = [&](const std::string& leaf, const View& x, std::int64_t count) {
      return b.layout_copy(leaf, x.split(1, count, width).transpose(0, 1).broadcast(0, 1));
    };
    const std::int64_t group = heads / kv_heads;
    View q = split("q_split", b.input("q", {n_q, heads * width}), heads);
    View k = n_q > 4 ? split("k_split", b.input("k", {n_k, kv_heads * width}), kv_heads)
                     : b.cache("k", {1, kv_heads, n_k, width}, n_k);
    View v = n_q > 4 ? split("v_split", b.input("v", {n_k, kv_heads * width}), kv_heads)
                     : b.cache("v", {1, kv_heads, n_k, width}, n_k);
    if (group > 1) {
      q = q.split(1, kv_heads, group);
      k = k.broadcast(2, group);
      v = v.broadcast(2, group);
    }
    const Mask mask{causal, 0};
    View scores =
        b.matmul("scores", q, k.transpose(k.rank() - 2, k.rank() - 1), {mask, MatMul::MaskAxes::kRowsColumns});
    scores = b.scale("scale", scores, 0.125);
    if (causal) {
      scores = b.pointwise("mask", scores, {StepFn::kMaskFill, 0.0, {}, mask});
    }
    View mixed = b.matmul("mix", b.softmax("softmax", scores), v, {mask, MatMul::MaskAxes::kRowsInner});
    mixed = group > 1 ? mixed.merge(1) : mixed;
    finish(b, b.layout_copy("merge", mixed.transpose(1, 2)));
  });
  out.graph = plan_launches(std::move(out.graph), plan);
  return out;
}

void add_products(std::vector<Case>& cases, DType dtype) {
  cases.push_back(product("qkv 196x576x192", dtype, 196, 576, 192));
  cases.push_back(product("proj 196x192x192", dtype, 196, 192, 192));
  cases.push_back(product("ffn up 196x768x192 gelu", dtype, 196, 768, 192, true));
  cases.push_back(product("ffn down 196x192x768", dtype, 196, 192, 768));
  cases.push_back(product("square 1024", dtype, 1024, 1024, 1024));
  cases.push_back(product("vit-b 197x3072x768", dtype, 197, 3072, 768));
  cases.push_back(batched("scores 3x[196x196x64]T", dtype, 3, 196, 196, 64, true));
  cases.push_back(batched("mix 3x[196x64x196]", dtype, 3, 196, 64, 196, false));
  cases.push_back(batched("small 256x[49x49x16]T", dtype, 256, 49, 49, 16, true));
  cases.push_back(batched("small 256x[49x16x49]", dtype, 256, 49, 16, 49, false));
  cases.push_back(product("gemv 1x4096x4096", dtype, 1, 4096, 4096));
  cases.push_back(product("gemv 4x4096x4096", dtype, 4, 4096, 4096));
  cases.push_back(product("gemv 1x768x192", dtype, 1, 768, 192));
  cases.push_back(batched("decode scores 8x[4x4096x128]T", dtype, 8, 4, 4096, 128, true));
  cases.push_back(batched("decode mix 8x[4x128x4096]", dtype, 8, 4, 128, 4096, false));
}

void add_attention(std::vector<Case>& cases, DType dtype) {
  for (const std::string plan : {"eager", "fused"}) {
    cases.push_back(attention("attention h3 n196 d64", dtype, plan, 3, 3, 196, 196, 64, false));
    cases.push_back(attention("attention h3 n196 d64 causal", dtype, plan, 3, 3, 196, 196, 64, true));
    cases.push_back(attention("attention h12 n1024 d64", dtype, plan, 12, 12, 1024, 1024, 64, false));
    cases.push_back(attention("attention h12 n1024 d64 causal", dtype, plan, 12, 12, 1024, 1024, 64, true));
    cases.push_back(attention("attention h8kv2 n512 d128", dtype, plan, 8, 2, 512, 512, 128, false));
    cases.push_back(attention("attention h4 n49 d16", dtype, plan, 4, 4, 49, 49, 16, false));
    cases.push_back(attention("decode h32kv8 k4096 d128", dtype, plan, 32, 8, 1, 4096, 128, false));
    cases.push_back(attention("decode h12 k1024 d64", dtype, plan, 12, 12, 1, 1024, 64, false));
  }
}

void add_rows(std::vector<Case>& cases, DType dtype, const std::string& size, std::int64_t rows) {
  const auto add = [&](const std::string& name, const Build& build) {
    cases.push_back(make_case(name + " " + size, false, dtype, build));
  };
  add("softmax 196", [&](GraphBuilder& b) { finish(b, b.softmax("s", b.input("x", {rows, 196}))); });
  add("layernorm 192", [&](GraphBuilder& b) {
    finish(b, b.layernorm("l", b.input("x", {rows, 192}), b.weight("g", {192}), b.weight("h", {192}), 1e-5));
  });
  for (const StepFn fn : {StepFn::kGelu, StepFn::kSilu, StepFn::kScale}) {
    add(std::string(step_traits(fn).name), [&](GraphBuilder& b) {
      finish(b, b.pointwise("p", b.input("x", {rows, 192}), {fn, 0.5, {}, {}}));
    });
  }
  add("add", [&](GraphBuilder& b) { finish(b, b.add("a", b.input("x", {rows, 192}), b.input("y", {rows, 192}))); });
  add("copy head split", [&](GraphBuilder& b) {
    finish(b, b.layout_copy("c", b.input("x", {rows, 192}).split(1, 3, 64).transpose(0, 1)));
  });
  add("copy transpose", [&](GraphBuilder& b) {
    finish(b, b.layout_copy("c", b.input("x", {rows / 2, 512}).transpose(0, 1)));
  });
  add("rope 64", [&](GraphBuilder& b) {
    const View x = b.input("x", {rows, 192}).split(1, 3, 64).transpose(0, 1);
    finish(b, b.rope("r", x, b.rope_table(rows, 64, 0)));
  });
}

void add_depthwise(std::vector<Case>& cases, DType dtype) {
  for (const std::int64_t kernel : {3, 5, 7}) {
    cases.push_back(make_case(fmt::format("depthwise {0}x{0} 14x14x192", kernel), true, dtype, [&](GraphBuilder& b) {
      finish(b, b.depthwise_conv2d("d", b.input("x", {1, 14, 14, 192}), b.weight("w", {192, kernel, kernel}),
                                   b.weight("b", {192}), 1, kernel / 2));
    }));
  }
}

std::vector<Case> all_cases(DType dtype) {
  std::vector<Case> cases;
  add_products(cases, dtype);
  add_attention(cases, dtype);
  add_rows(cases, dtype, "L2", 196);
  add_rows(cases, dtype, "DRAM", 65536);
  add_depthwise(cases, dtype);
  return cases;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of one run, from as many in a row as take about two milliseconds.
double time_of(Program& program, double estimate_s, clockid_t clock) {
  const int repeats = static_cast<int>(std::clamp(2e-3 / std::max(estimate_s, 1e-9), 1.0, 100'000.0));
  const double begin = now_s(clock);
  for (int i = 0; i < repeats; ++i) {
    program.run();
  }
  return (now_s(clock) - begin) / repeats;
}

void measure(const Case& which, const Arguments& arguments, Yardsticks& yardsticks) {
  const auto program = make_cpu_executor()->prepare(which.graph, {arguments.threads, arguments.isa, 1});
  const Totals totals = cost_of(which.graph).totals;
  const auto bytes = static_cast<double>((totals.bytes_read + totals.bytes_written).value());
  // Attended pairs only: a plan gains nothing by computing what the mask throws away.
  const double amount = which.by_flops ? 2.0 * static_cast<double>(totals.work.useful_macs.value()) : bytes;
  program->run();
  const double begin = now_s(arguments.clock);
  program->run();
  double estimate_s = now_s(arguments.clock) - begin;
  std::vector<double> times;
  std::vector<double> ratios;
  for (int i = 0; i < arguments.samples; ++i) {
    const double before =
        which.by_flops ? yardsticks.fma_rate() : yardsticks.copy_rate(static_cast<std::int64_t>(bytes));
    const double seconds = time_of(*program, estimate_s, arguments.clock);
    const double after =
        which.by_flops ? yardsticks.fma_rate() : yardsticks.copy_rate(static_cast<std::int64_t>(bytes));
    estimate_s = seconds;
    times.push_back(seconds);
    ratios.push_back(amount / seconds / std::max(before, after));
  }
  const double seconds = median(times);
  std::string impls;
  for (const std::string& impl : program->kernel_impls()) {
    impls += impls.find(impl) == std::string::npos ? (impls.empty() ? "" : "; ") + impl : std::string();
  }
  fmt::print("{:<38} {:>10.2f} us {:>8.2f} {} {:>5.0f} % of {}  {}\n", which.name, seconds * 1e6,
             amount / seconds * 1e-9, which.by_flops ? "GFLOP/s" : "GB/s   ", 100.0 * median(ratios),
             which.by_flops ? "FMA " : "copy", impls.substr(0, 70));
  std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const std::string isa = cpu::select_kernels(arguments.isa).isa;
  Yardsticks yardsticks(isa, arguments);
  fmt::print("{} {} threads {}\n", isa, name_of(arguments.dtype), arguments.threads);
  for (const Case& which : all_cases(arguments.dtype)) {
    const bool chosen = std::any_of(arguments.filters.begin(), arguments.filters.end(), [&](const std::string& filter) {
      return which.name.find(filter) != std::string::npos;
    });
    if (arguments.filters.empty() || chosen) {
      measure(which, arguments, yardsticks);
    }
  }
  return 0;
}

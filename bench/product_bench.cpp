// Matrix products by a weight: the own kernels beside oneDNN's ways to multiply, interleaved in one process, so that a
// ratio is of times taken within milliseconds of each other. The numbers of kernels/cpu/product_rule.cpp come from
// here.
//
// attnprof_product_bench [--threads N] [--samples N] [FILTER...]
// FILTER: words of which one must occur in a case's name. One thread is measured in processor time, several in wall
// time. A cell is: median of (time / time of the own kernels in the same round) [lower, upper quartile].
#include "operators/core/builder.hpp"
#include "operators/exec/executor.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dnnl.hpp>
#include <fmt/format.h>
#include <functional>
#include <omp.h>

using namespace attnprof::operators;

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

struct Shape {
  const char* name;
  std::int64_t m, n, k;
  bool gelu = false; ///< bias and GELU as an epilogue; the raw library calls then do less than the tool
};

const std::vector<Shape> kShapes{{"decode 1", 1, 768, 768},
                                 {"decode 2", 2, 768, 768},
                                 {"decode 4", 4, 768, 768},
                                 {"decode 5", 5, 768, 768},
                                 {"decode 8", 8, 768, 768},
                                 {"decode 8 fc1", 8, 3072, 768},
                                 {"decode 8 fc2", 8, 768, 3072},
                                 {"rows 16", 16, 768, 768},
                                 {"rows 32", 32, 768, 768},
                                 {"small", 5, 192, 192},
                                 {"small", 8, 192, 192},
                                 {"small", 64, 64, 64},
                                 {"small", 197, 48, 48},
                                 {"small", 197, 16, 192},
                                 {"vit-t proj", 197, 192, 192},
                                 {"vit-t fc1", 197, 768, 192},
                                 {"vit-t fc1 gelu", 197, 768, 192, true},
                                 {"vit-t fc2", 197, 192, 768},
                                 {"vit-t b8 proj", 1576, 192, 192},
                                 {"vit-t b8 fc1", 1576, 768, 192},
                                 {"vit-t b8 fc2", 1576, 192, 768},
                                 {"vit-s proj", 197, 384, 384},
                                 {"vit-s fc1", 197, 1536, 384},
                                 {"vit-s fc1 gelu", 197, 1536, 384, true},
                                 {"vit-s fc2", 197, 384, 1536},
                                 {"vit-s b8 proj", 1576, 384, 384},
                                 {"vit-s b8 fc1", 1576, 1536, 384},
                                 {"vit-s b8 fc2", 1576, 384, 1536},
                                 {"vit-b proj", 197, 768, 768},
                                 {"vit-b fc1", 197, 3072, 768},
                                 {"vit-b fc1 gelu", 197, 3072, 768, true},
                                 {"vit-b fc2", 197, 768, 3072},
                                 {"vit-b b8 proj", 1576, 768, 768},
                                 {"vit-b b8 fc1", 1576, 3072, 768},
                                 {"vit-b b8 fc2", 1576, 768, 3072},
                                 {"square", 512, 512, 512},
                                 {"square", 1024, 1024, 1024},
                                 {"square", 2048, 2048, 2048}};

/// One way to multiply, its times and their ratios to the first way's.
struct Candidate {
  std::string name;
  std::function<void()> run;
  std::vector<double> times_s, ratios;
};

double now_s(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The product as the tool runs it.
Candidate of_tool(const Shape& shape, int threads, Products products) {
  GraphBuilder builder(DType::kF32);
  const View y = builder.matmul("p", builder.input("x", {shape.m, shape.k}), builder.weight("w", {shape.k, shape.n}));
  const View bias = builder.weight("bias", {shape.n}).broadcast(0, shape.m);
  builder.mark_output(y, "y");
  Graph graph = builder.take();
  if (shape.gelu) {
    std::get<MatMul>(graph.ops[0].primitive).epilogue = {{StepFn::kAdd, 0.0, bias, {}}, {StepFn::kGelu, 0.0, {}, {}}};
  }
  const std::shared_ptr<Program> program = make_cpu_executor()->prepare(graph, {threads, "", 1, products});
  return {program->kernel_impls().front(), [program] { program->run(); }, {}, {}};
}

/// oneDNN's own entry points, each with memory of its own; weights reordered beforehand where the primitive wants it.
class Library {
 public:
  explicit Library(const Shape& shape)
      : shape_(shape), x_({{shape.m, shape.k}, kF32, Tag::ab}, engine_),
        w_({{shape.k, shape.n}, kF32, Tag::ab}, engine_), y_({{shape.m, shape.n}, kF32, Tag::ab}, engine_) {
    attributes_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    fill(x_, shape.m * shape.k);
    fill(w_, shape.k * shape.n);
  }

  Candidate matmul() {
    const dnnl::matmul::desc desc(x_.get_desc(), {{shape_.k, shape_.n}, kF32, Tag::any}, y_.get_desc());
    const dnnl::matmul::primitive_desc product(desc, attributes_, engine_);
    return candidate("matmul", product, dnnl::matmul(product));
  }
  Candidate inner_product() {
    const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_inference, x_.get_desc(),
                                                 {{shape_.n, shape_.k}, kF32, Tag::any}, y_.get_desc());
    const dnnl::inner_product_forward::primitive_desc product(desc, attributes_, engine_);
    return candidate("inner product", product, dnnl::inner_product_forward(product));
  }
  Candidate sgemm() {
    const auto address = [](const memory& m) { return static_cast<float*>(m.get_data_handle()); };
    return {"sgemm",
            [=, shape = shape_, x = x_, w = w_, y = y_] {
              dnnl_sgemm('N', 'N', shape.m, shape.n, shape.k, 1.0F, address(x), shape.k, address(w), shape.n, 0.0F,
                         address(y), shape.n);
            },
            {},
            {}};
  }

 private:
  static void fill(const memory& m, std::int64_t count) {
    auto* values = static_cast<float*>(m.get_data_handle());
    for (std::int64_t i = 0; i < count; ++i) {
      values[i] = 0.1F * static_cast<float>(i % 13 - 6);
    }
  }
  template <class Description>
  Candidate candidate(const char* name, const Description& product, const dnnl::primitive& primitive) {
    const memory weights(product.weights_desc(), engine_); // its values do not matter to its speed
    std::memset(weights.get_data_handle(), 0, product.weights_desc().get_size());
    const memory scratchpad(product.scratchpad_desc(), engine_);
    const std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, y_}, {DNNL_ARG_SCRATCHPAD, scratchpad}};
    return {fmt::format("{} {}", name, product.impl_info_str()),
            [primitive, arguments, stream = stream_] { primitive.execute(stream, arguments); },
            {},
            {}};
  }

  Shape shape_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive_attr attributes_;
  memory x_, w_, y_;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

void measure(const Shape& shape, int threads, int samples) {
  std::vector<Candidate> candidates{of_tool(shape, threads, Products::kOwn),
                                    of_tool(shape, threads, Products::kOneDnn)};
  Library library(shape);
  candidates.push_back(library.matmul());
  candidates.push_back(library.inner_product());
  candidates.push_back(library.sgemm());
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const int repeats = static_cast<int>(std::max(1.0, 1e8 / flops)); // about two milliseconds
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const int rounds = flops > 5e9 ? std::max(5, samples / 4) : samples;
  for (int round = -1; round < rounds; ++round) { // the first only warms up
    double own_s = 0.0;
    for (Candidate& candidate : candidates) {
      const double begin = now_s(clock);
      for (int i = 0; i < repeats; ++i) {
        candidate.run();
      }
      const double seconds = (now_s(clock) - begin) / repeats;
      own_s = &candidate == candidates.data() ? seconds : own_s;
      if (round >= 0) {
        candidate.times_s.push_back(seconds);
        candidate.ratios.push_back(seconds / own_s);
      }
    }
  }
  fmt::print("{:<15} {}x{}x{}\n", shape.name, shape.m, shape.n, shape.k);
  for (const Candidate& candidate : candidates) {
    const double seconds = quantile(candidate.times_s, 0.5);
    fmt::print("  {:<34} {:>10.1f} us {:>6.1f} GFLOP/s  {:.2f} [{:.2f} {:.2f}]\n", candidate.name, seconds * 1e6,
               flops / seconds * 1e-9, quantile(candidate.ratios, 0.5), quantile(candidate.ratios, 0.25),
               quantile(candidate.ratios, 0.75));
  }
  std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
  int threads = 1;
  int samples = 21;
  std::vector<std::string> filters;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads" && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (word == "--samples" && i + 1 < argc) {
      samples = std::atoi(argv[++i]);
    } else {
      filters.push_back(word);
    }
  }
  omp_set_num_threads(threads); // the raw library calls share out their work by it
  for (const Shape& shape : kShapes) {
    const std::string name = shape.name;
    if (filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const std::string& filter) {
          return name.find(filter) != std::string::npos;
        })) {
      measure(shape, threads, samples);
    }
  }
  return 0;
}

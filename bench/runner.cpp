#include "bench/runner.hpp"

#include "profilers/mapped_buffer.hpp"
#include "profilers/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

namespace attnprof::bench {
namespace {

using operators::DType;
using operators::Program;
using operators::Tensor;
using operators::TensorRole;

/// The operands of a case as plain arrays. Inputs and the output are the program's own memory; of weights, which it
/// keeps packed, there is a plain copy.
class PlainOperands {
 public:
  PlainOperands(const Case& which, Program& program) : peer_(*which.peer) {
    peer_.a = plain(which, program, "a");
    peer_.b = plain(which, program, "b");
    peer_.c = plain(which, program, "c");
    const auto output = program.memory(which.launches.find("y"));
    peer_.y = const_cast<std::byte*>(output->data());
    y_ = {static_cast<float*>(peer_.y), output->size() / sizeof(float)};
  }
  [[nodiscard]] const PeerCase& peer() const { return peer_; }
  [[nodiscard]] std::span<float> y() const { return y_; }

 private:
  const void* plain(const Case& which, Program& program, const char* name) {
    const operators::TensorId id = which.launches.find(name);
    if (id < 0) {
      return nullptr;
    }
    if (which.launches.tensor(id).role != TensorRole::kWeight) {
      return program.memory(id)->data();
    }
    const std::vector<float> values = program.read(id);
    const bool half = which.launches.tensor(id).dtype == DType::kBf16;
    copies_.emplace_back(values.size() * (half ? 2 : 4));
    copies_.back().touch(0.0F);
    std::byte* to = copies_.back().bytes();
    if (!half) {
      std::memcpy(to, values.data(), values.size() * sizeof(float));
      return to;
    }
    for (std::size_t i = 0; i < values.size(); ++i) { // the values are bf16's already: nothing is cut off
      const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(values[i]) >> 16U);
      std::memcpy(to + 2 * i, &bits, 2);
    }
    return to;
  }

  PeerCase peer_;
  std::span<float> y_;
  std::vector<profilers::MappedBuffer> copies_;
};

/// Whether a library computes what our kernels do: its reassociated sums may differ in the last digits.
bool agrees(std::span<const float> ours, std::span<const float> theirs) {
  float largest = 0.0F;
  for (const float value : ours) {
    largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!(std::abs(ours[i] - theirs[i]) <= 1e-3F * largest)) {
      return false;
    }
  }
  return true;
}

/// Runs ours, then each library, on the same output.
std::vector<std::optional<bool>> compare_results(Program& program, const PlainOperands& operands,
                                                 const std::vector<Contestant>& peers, DType dtype) {
  std::vector<std::optional<bool>> out;
  if (dtype != DType::kF32) {
    out.assign(peers.size(), std::nullopt);
    return out;
  }
  program.run();
  const std::span<float> y = operands.y();
  const std::vector<float> ours(y.begin(), y.end());
  for (const Contestant& peer : peers) {
    std::fill(y.begin(), y.end(), -1.0F);
    peer.run();
    out.push_back(agrees(ours, y));
  }
  return out;
}

std::string joined_impls(const Program& program) {
  std::string out;
  for (const std::string& impl : program.kernel_impls()) {
    if (out.find(impl) == std::string::npos) {
      out += (out.empty() ? "" : "; ") + impl;
    }
  }
  return out;
}

bool is_rate_of_flops(LimitKind kind) {
  return kind == LimitKind::kFma || kind == LimitKind::kBf16;
}

std::size_t first_peer(const Measured& measured) {
  return measured.has_reference ? 3 : 2;
}

/// The library of the least median, so that none is picked by luck in one round; absent without libraries.
std::optional<std::size_t> best_peer(const Measured& measured) {
  std::optional<std::size_t> best;
  for (std::size_t i = first_peer(measured); i < measured.rounds.times_s.size(); ++i) {
    best = !best || measured.rounds.median_time(i) < measured.rounds.median_time(*best) ? i : *best;
  }
  return best;
}

/// A figure and the contestants whose ratio it is.
struct Figure {
  double value;
  std::size_t numerator, denominator;
};
std::optional<Figure> figure_of(Source source, const Row& row, const Measured& measured) {
  const auto ratio = [&](std::size_t numerator, std::size_t denominator) -> std::optional<Figure> {
    const std::optional<double> value = measured.rounds.median_ratio(numerator, denominator);
    return value ? std::optional(Figure{*value, numerator, denominator}) : std::nullopt;
  };
  switch (source) {
  case Source::kLimit: return Figure{row.share, 1, 0};
  case Source::kSlowdown: return measured.has_reference ? ratio(0, 2) : std::nullopt;
  case Source::kSpeedup: return measured.has_reference ? ratio(2, 0) : std::nullopt;
  case Source::kBestPeer: break;
  }
  const std::optional<std::size_t> best = best_peer(measured);
  return best ? ratio(*best, 0) : std::nullopt;
}

} // namespace

void derive(Row& row, const Measured& measured, const std::vector<Claim>& claims) {
  const Rounds& rounds = measured.rounds;
  row.rounds = rounds.times_s[0].size();
  row.whole_rounds = rounds.rounds_of_pair(true);
  row.time_median_s = rounds.median_time(0).value_or(0.0);
  row.amount = measured.amount;
  row.limit_rate = measured.limit_amount / rounds.median_time(1).value_or(1.0);
  row.share = measured.amount / measured.limit_amount * rounds.median_ratio(1, 0).value_or(0.0);
  if (measured.has_reference) {
    row.time_over_reference = rounds.median_ratio(0, 2);
  }
  for (std::size_t i = 0; i < measured.peer_names.size(); ++i) {
    const std::size_t at = first_peer(measured) + i;
    row.peers.push_back({measured.peer_names[i], rounds.median_ratio(at, 0).value_or(0.0), std::nullopt});
  }
  for (const Claim& claim : claims) {
    if (const std::optional<Figure> figure = figure_of(claim.source, row, measured)) {
      row.claims.push_back({claim.bar, figure->value, verdict_on(find_bar(claim.bar), figure->value),
                            rounds.shared(figure->numerator, figure->denominator)});
    }
  }
}

CoreWatch Runner::watch_of(int threads) {
  if (host_ == nullptr) {
    return CoreWatch();
  }
  CoreWatch out([this, &team = limits_.team(threads)] { return least_issue_rate(team, *host_); });
  out.expect(best_issue_rate_);
  return out;
}

std::optional<Row> Runner::run(const Case& which) {
  const std::unique_ptr<operators::Executor> executor = operators::make_cpu_executor();
  const std::unique_ptr<Program> program = executor->prepare(which.launches, which.options);
  const double amount = amount_of(which);
  const std::optional<Limit> limit =
      limits_.make(which.limit, which.options.threads, static_cast<std::int64_t>(amount));
  if (!limit) {
    return std::nullopt;
  }
  std::vector<Contestant> contestants{{"ours", [&] { program->run(); }}, {"limit", limit->run}};
  std::unique_ptr<Program> reference;
  if (which.reference) {
    reference = executor->prepare(which.reference->launches, which.reference->options);
    contestants.push_back({which.reference->name, [&] { reference->run(); }});
  }
  Measured measured;
  measured.amount = amount;
  measured.limit_amount = limit->amount;
  measured.has_reference = reference != nullptr;
  std::vector<std::optional<bool>> agreements;
  std::unique_ptr<PlainOperands> operands;
  if (which.peer) {
    operands = std::make_unique<PlainOperands>(which, *program);
    std::vector<Contestant> peers;
    for (const PeerLibrary& library : libraries_) {
      for (Contestant& peer : library.make ? library.make(operands->peer()) : std::vector<Contestant>{}) {
        peers.push_back(std::move(peer));
      }
    }
    agreements = compare_results(*program, *operands, peers, which.dtype);
    for (Contestant& peer : peers) {
      measured.peer_names.push_back(peer.name);
      contestants.push_back(std::move(peer));
    }
  }
  CoreWatch watch = watch_of(which.options.threads);
  measured.rounds = sample(contestants, options_, clock_, watch);
  best_issue_rate_ = watch.best();

  Row row;
  row.name = which.name;
  row.dtype = name_of(which.dtype);
  row.impl = joined_impls(*program);
  row.threads = which.options.threads;
  row.unit = is_rate_of_flops(which.limit) ? "FLOP/s" : "B/s";
  row.limit = name_of(which.limit);
  row.reference = which.reference ? std::optional(which.reference->name) : std::nullopt;
  derive(row, measured, which.claims);
  for (std::size_t i = 0; i < row.peers.size(); ++i) {
    row.peers[i].agrees = agreements[i];
  }
  return row;
}

} // namespace attnprof::bench

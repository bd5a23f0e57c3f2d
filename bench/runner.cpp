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

/// The times of the fastest library in each round, so that no library is picked by luck of its median; empty without
/// libraries.
std::vector<double> best_peer_times(const Measured& measured) {
  const std::size_t first = measured.has_reference ? 3 : 2;
  std::optional<std::size_t> best;
  for (std::size_t i = first; i < measured.rounds.times_s.size(); ++i) {
    const auto median_of = [&](std::size_t which) { return profilers::median(measured.rounds.times_s[which]); };
    best = !best || median_of(i) < median_of(*best) ? i : *best;
  }
  return best ? measured.rounds.times_s[*best] : std::vector<double>{};
}

std::optional<double> figure_of(Source source, const Row& row, const Measured& measured) {
  const std::vector<double>& ours = measured.rounds.times_s[0];
  switch (source) {
  case Source::kLimit: return row.share;
  case Source::kSlowdown: return row.time_over_reference;
  case Source::kSpeedup: return measured.has_reference ? median_ratio(measured.rounds.times_s[2], ours) : std::nullopt;
  case Source::kBestPeer: break;
  }
  return median_ratio(best_peer_times(measured), ours);
}

} // namespace

void derive(Row& row, const Measured& measured, const std::vector<Claim>& claims) {
  const std::vector<std::vector<double>>& times = measured.rounds.times_s;
  row.rounds = times[0].size();
  row.time_median_s = profilers::median(times[0]).value_or(0.0);
  row.amount = measured.amount;
  row.limit_rate = measured.limit_amount / profilers::median(times[1]).value_or(1.0);
  row.share = measured.amount / measured.limit_amount * median_ratio(times[1], times[0]).value_or(0.0);
  if (measured.has_reference) {
    row.time_over_reference = median_ratio(times[0], times[2]);
  }
  for (std::size_t i = 0; i < measured.peer_names.size(); ++i) {
    const std::size_t at = (measured.has_reference ? 3 : 2) + i;
    row.peers.push_back({measured.peer_names[i], median_ratio(times[at], times[0]).value_or(0.0), std::nullopt});
  }
  for (const Claim& claim : claims) {
    if (const std::optional<double> figure = figure_of(claim.source, row, measured)) {
      row.claims.push_back({claim.bar, *figure, verdict_on(find_bar(claim.bar), *figure)});
    }
  }
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
  measured.rounds = sample(contestants, options_, clock_);

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

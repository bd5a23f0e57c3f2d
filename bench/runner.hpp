// Times one case beside its limit, its reference and the libraries, and turns the samples into figures.
#pragma once

#include "bench/bars.hpp"
#include "bench/cases.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::bench {

struct PeerRow {
  std::string name;
  double time_over_ours = 0;  ///< median of ratios; above 1: the library is slower
  std::optional<bool> agrees; ///< its result equals ours; absent where it was not compared
};

struct ClaimRow {
  std::string bar;
  double figure = 0;
  BarVerdict verdict = BarVerdict::kOk;
  bool core_shared = false; ///< it rests on rounds whose cores something else used as well
};

/// What was measured of one case. Ratios are medians over rounds.
struct Row {
  std::string name, dtype, impl;
  int threads = 1;
  double time_median_s = 0;
  double amount = 0; ///< useful FLOPs, or bytes, of one run
  std::string unit;  ///< FLOP/s or B/s
  std::string limit;
  double limit_rate = 0; ///< median of the loop's rate
  double share = 0;      ///< of the limit
  std::optional<std::string> reference;
  std::optional<double> time_over_reference;
  std::vector<PeerRow> peers;
  std::vector<ClaimRow> claims;
  std::size_t rounds = 0;
  std::size_t whole_rounds = 0; ///< in which ours and the limit had their cores to themselves

  /// Whether too few rounds were whole to rest on: the figures then hold for a core that something else used as well.
  [[nodiscard]] bool core_shared() const { return whole_rounds < std::min(kFewestWhole, rounds); }
};

/// The samples of one case: the first contestant is our kernel, the second the limit, then the reference where there is
/// one, then the libraries.
struct Measured {
  double amount = 0;
  double limit_amount = 0;
  bool has_reference = false;
  std::vector<std::string> peer_names;
  Rounds rounds;
};
/// Shares, ratios and claims of a row, from its samples. Pure.
void derive(Row& row, const Measured& measured, const std::vector<Claim>& claims);

class Runner {
 public:
  /// `host`: whose loops tell a core that is shared from one that is not; null: none is told apart.
  Runner(const std::string& isa, std::vector<PeerLibrary> libraries, const SamplerOptions& options,
         profilers::Clock& clock, profilers::HostProbe* host)
      : limits_(isa), libraries_(std::move(libraries)), options_(options), clock_(clock), host_(host) {}

  /// Absent where the machine lacks the unit that is the case's limit.
  std::optional<Row> run(const Case& which);

  /// Independent operations a cycle of a core that was not shared, the most that was seen.
  [[nodiscard]] std::optional<double> best_issue_rate() const { return best_issue_rate_; }

 private:
  CoreWatch watch_of(int threads);

  Limits limits_;
  std::vector<PeerLibrary> libraries_;
  SamplerOptions options_;
  profilers::Clock& clock_;
  profilers::HostProbe* host_;
  std::optional<double> best_issue_rate_;
};

} // namespace attnprof::bench

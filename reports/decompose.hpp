// Why one case takes longer than another: less work, fewer bytes, fewer launches, or better use of the machine. Pure.
#pragma once
#include "profilers/record.hpp"
#include "reports/roofs.hpp"

#include <optional>

namespace attnprof::reports {

/// Least times at this machine's ceilings, added up over the launches: a model, since work and traffic may overlap.
struct ModelTimes {
  double work_s = 0;     ///< matrix, vector and transcendental work
  double bytes_s = 0;    ///< traffic from the level that decides
  double launches_s = 0; ///< measured overhead of as many empty launches; 0 where it was not measured
  [[nodiscard]] double total_s() const { return work_s + bytes_s + launches_s; }
};
/// Absent where a ceiling that the case needs is unknown.
std::optional<ModelTimes> model_times(const profilers::Record& record, const Roofs& roofs);

/// Parts of log(time of other / time of base); negative parts make the other case faster.
struct Decomposition {
  double work = 0;
  double bytes = 0;
  double launches = 0;
  double efficiency = 0; ///< how much nearer to its model time the base comes
  [[nodiscard]] double sum() const { return work + bytes + launches + efficiency; }
};

/// An exact identity. With T = M / e, where M is the model time and e the efficiency,
///   log(T'/T) = log(M'/M) - log(e'/e),  and  log(M'/M) = sum over the parts k of M of (k' - k) / L(M', M)
/// with the logarithmic mean L(a, b) = (a - b) / log(a / b), L(a, a) = a (additive LMDI: Ang 2005, The LMDI approach to
/// decomposition analysis, eq. 5 and 6). `log_ratio` is the measured log(T'/T), which the four parts sum to.
/// Absent where a model time is not positive.
std::optional<Decomposition> decompose(const ModelTimes& base, const ModelTimes& other, double log_ratio);

} // namespace attnprof::reports

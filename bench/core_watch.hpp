// Tells samples that had their core to themselves from those that shared it with another hardware thread.
#pragma once

#include "operators/exec/threads.hpp"
#include "profilers/host_probe.hpp"

#include <functional>
#include <optional>

namespace attnprof::bench {

/// On a shared machine another guest may use the second hardware thread of a core. A loop of multiply-adds then keeps
/// its rate, a kernel loses a third of its own, and their ratio says nothing of the kernel. Rates are compared with the
/// best that was seen on this machine.
class CoreWatch {
 public:
  /// `issue_rate`: operations a cycle at this moment, the least of all workers; empty or absent: every sample counts as
  /// whole.
  explicit CoreWatch(std::function<std::optional<double>()> issue_rate = {}) : issue_rate_(std::move(issue_rate)) {}

  /// The present rate; absent where it cannot be told.
  std::optional<double> look();
  /// Whether a core with this rate was not shared.
  [[nodiscard]] bool is_whole(std::optional<double> rate) const;
  /// The best rate so far.
  [[nodiscard]] std::optional<double> best() const { return best_; }
  /// Continues with the best rate of another watch.
  void expect(std::optional<double> best);

 private:
  std::function<std::optional<double>()> issue_rate_;
  std::optional<double> best_;
};

/// The least rate of the team's workers, each on its own processor. They use the loops of `host` at once, which keep no
/// state.
std::optional<double> least_issue_rate(const operators::ThreadTeam& team, profilers::HostProbe& host);

} // namespace attnprof::bench

#pragma once
#include <omp.h>
#include <vector>

namespace attnprof::operators {

/// A logical processor and its place in the machine.
struct Processor {
  int id = 0;
  int core = 0;      ///< the same for hardware threads of one core
  bool slow = false; ///< of an efficiency core
};
/// The order in which workers take processors: one hardware thread of each core first, fast cores before slow ones, and
/// among them the core of the first processor last, since that is where systems put their interrupts and daemons.
std::vector<int> binding_order(std::vector<Processor> processors);

/// Processors that this thread may use, in binding_order.
std::vector<int> usable_processors();

/// A fixed number of OpenMP workers, each bound to a processor of its own: unbound threads can share one for
/// milliseconds after a pause. Workers that the runtime replaces are bound when they first do something; the destructor
/// gives the calling thread and the workers their former freedom back.
class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] int size() const { return size_; }
  /// One for each worker; empty where they are not bound.
  [[nodiscard]] std::vector<int> processors() const;

  /// Runs work(share) once for each share of `size()`, at once. The runtime may give fewer threads than asked for; a
  /// thread then does several shares.
  template <class Work>
  void run(Work&& work) const {
    if (size_ == 1) {
      bind(0);
      work(0);
      return;
    }
#pragma omp parallel num_threads(size_)
    {
      bind(omp_get_thread_num());
      for_my_shares(work);
    }
  }
  /// Inside run_region: each share of a step, then a barrier.
  template <class Work>
  void for_my_shares(Work&& work) const {
    const int threads = omp_get_num_threads();
    for (int share = omp_get_thread_num(); share < size_; share += threads) {
      work(share);
    }
  }
  /// Runs `body` on every thread; it calls for_my_shares and barrier in the same order everywhere.
  template <class Body>
  void run_region(Body&& body) const {
    if (size_ == 1) {
      bind(0);
      body();
      return;
    }
#pragma omp parallel num_threads(size_)
    {
      bind(omp_get_thread_num());
      body();
    }
  }
  static void barrier() {
#pragma omp barrier
  }

 private:
  void bind(int worker) const;
  int size_;
  std::vector<int> processors_; ///< empty: more workers than processors, left unbound
};

} // namespace attnprof::operators

#include "profilers/thread_team.hpp"

#include "profilers/clock.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <thread>

namespace attnprof::profilers {

struct ThreadTeam::Shared {
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable finished;
  long generation = 0;
  int running = 0;
  bool stop = false;
  const std::function<void(int)>* prepare = nullptr;
  const std::function<void(int)>* timed = nullptr;
  std::atomic<int> ready = 0;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<char> disturbed; ///< one a thread; not bits, which threads would share
  std::atomic<bool> all_pinned = true;
  std::vector<std::thread> threads;

  void work(int thread, int cpu);
  void run_one(int thread);
};

namespace {

bool pin_to(int cpu) {
  cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, mask);
  CPU_SET_S(static_cast<std::size_t>(cpu), bytes, mask);
  const bool pinned = ::pthread_setaffinity_np(::pthread_self(), bytes, mask) == 0;
  CPU_FREE(mask);
  return pinned;
}

/// Context switches so far; absent where the system does not tell.
std::optional<std::int64_t> switches_of_this_thread() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0)
    return std::nullopt;
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

} // namespace

void ThreadTeam::Shared::run_one(int thread) {
  const auto index = static_cast<std::size_t>(thread);
  SteadyClock clock;
  (*prepare)(thread);
  ready.fetch_add(1);
  // Spinning starts all threads within nanoseconds; giving way keeps it from
  // hanging where threads outnumber processors.
  for (int spins = 0; ready.load() < static_cast<int>(threads.size()); ++spins)
    if (spins > 10'000)
      std::this_thread::yield();
  const auto switches = switches_of_this_thread();
  begin_ns[index] = clock.now_ns();
  (*timed)(thread);
  end_ns[index] = clock.now_ns();
  disturbed[index] = switches != switches_of_this_thread() ? 1 : 0;
}

void ThreadTeam::Shared::work(int thread, int cpu) {
  if (!pin_to(cpu))
    all_pinned = false;
  long seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stop || generation != seen; });
      if (stop)
        return;
      seen = generation;
    }
    run_one(thread);
    const std::lock_guard lock(mutex);
    if (--running == 0)
      finished.notify_one();
  }
}

ThreadTeam::ThreadTeam(const std::vector<int>& cpus) : shared_(std::make_unique<Shared>()) {
  shared_->begin_ns.resize(cpus.size());
  shared_->end_ns.resize(cpus.size());
  shared_->disturbed.resize(cpus.size());
  // Under the lock: no thread may look at the vector of threads while it grows.
  const std::lock_guard lock(shared_->mutex);
  for (std::size_t i = 0; i < cpus.size(); ++i)
    shared_->threads.emplace_back(
        [shared = shared_.get(), i, cpu = cpus[i]] { shared->work(static_cast<int>(i), cpu); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->wake.notify_all();
  for (std::thread& thread : shared_->threads)
    thread.join();
}

int ThreadTeam::size() const {
  return static_cast<int>(shared_->threads.size());
}

bool ThreadTeam::pinned() const {
  return shared_->all_pinned;
}

bool ThreadTeam::was_disturbed() const {
  return std::any_of(shared_->disturbed.begin(), shared_->disturbed.end(), [](char one) { return one != 0; });
}

double ThreadTeam::run(const std::function<void(int)>& prepare, const std::function<void(int)>& timed) {
  if (shared_->threads.empty())
    return 0;
  std::unique_lock lock(shared_->mutex);
  shared_->prepare = &prepare;
  shared_->timed = &timed;
  shared_->ready = 0;
  shared_->running = size();
  ++shared_->generation;
  shared_->wake.notify_all();
  shared_->finished.wait(lock, [&] { return shared_->running == 0; });
  const std::int64_t begin = *std::min_element(shared_->begin_ns.begin(), shared_->begin_ns.end());
  const std::int64_t end = *std::max_element(shared_->end_ns.begin(), shared_->end_ns.end());
  return seconds_between(begin, end);
}

} // namespace attnprof::profilers

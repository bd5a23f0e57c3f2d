#include "profilers/gpu/device_clock.hpp"

namespace attnprof::profilers {
namespace {

/// A stream takes about a thousand launches before starting another one waits for the device, which would wait for
/// ever behind a closed gate. Products may start several kernels each.
constexpr std::int64_t kQueuedLaunches = 200;

} // namespace

double DeviceClock::time_s(const std::function<void()>& body, std::int64_t runs) {
  const double time_s = device_.time_s(body, runs * launches_ <= kQueuedLaunches);
  states_.push_back(device_.card_state());
  return time_s;
}

} // namespace attnprof::profilers

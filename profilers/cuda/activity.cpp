#include "profilers/cuda/activity.hpp"

#include "profilers/cuda/cupti_error.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cupti.h>
#include <map>
#include <mutex>

namespace attnprof::profilers::cuda {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{8} << 20U;
constexpr std::array kKinds = {
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,    CUPTI_ACTIVITY_KIND_MEMCPY,  CUPTI_ACTIVITY_KIND_MEMSET};

/// CUPTI's callbacks carry no argument of ours, so what they fill must be found from anywhere.
struct Collected {
  std::mutex mutex;
  ActivityLog log;
};
Collected& collected() {
  static Collected one;
  return one;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *bytes = kBufferBytes;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                          std::size_t valid_bytes) {
  Collected& into = collected();
  const std::lock_guard<std::mutex> lock(into.mutex);
  decode_activity(buffer, valid_bytes, into.log);
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    into.log.dropped += static_cast<std::int64_t>(dropped);
  }
  std::free(buffer);
}

/// The records are packed: fields are copied, never bound to references.
template <class Timed>
ActivityLog::KernelRecord record_of(const Timed& record, std::string name) {
  ActivityLog::KernelRecord out;
  out.name = std::move(name);
  out.begin_ns = record.start;
  out.end_ns = record.end;
  out.correlation = record.correlationId;
  return out;
}

} // namespace

void decode_activity(std::uint8_t* buffer, std::size_t valid_bytes, ActivityLog& log) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      const char* name = kernel->name;
      log.kernels.push_back(record_of(*kernel, name == nullptr ? "?" : name));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      log.kernels.push_back(record_of(*reinterpret_cast<const CUpti_ActivityMemcpy6*>(record), "memcpy"));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      log.kernels.push_back(record_of(*reinterpret_cast<const CUpti_ActivityMemset4*>(record), "memset"));
      break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto* link = reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      const std::uint32_t correlation = link->correlationId;
      const std::uint64_t external = link->externalId;
      if (link->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
        log.links.emplace_back(correlation, external);
      }
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: break; // only their links matter
    default: ++log.unknown; break;
    }
  }
}

operators::gpu::ActivityReport join_activity(const ActivityLog& log) {
  const std::map<std::uint32_t, std::uint64_t> links(log.links.begin(), log.links.end());
  operators::gpu::ActivityReport out;
  out.dropped = log.dropped;
  for (const ActivityLog::KernelRecord& kernel : log.kernels) {
    if (kernel.begin_ns == 0 || kernel.end_ns <= kernel.begin_ns) {
      ++out.invalid;
      continue;
    }
    const auto link = links.find(kernel.correlation);
    const std::int64_t launch =
        link == links.end() || link->second == 0 ? -1 : static_cast<std::int64_t>(link->second) - 1;
    out.kernels.push_back(
        {launch, kernel.name, static_cast<std::int64_t>(kernel.begin_ns), static_cast<std::int64_t>(kernel.end_ns)});
  }
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  return out;
}

ActivitySession::ActivitySession() {
  {
    const std::lock_guard<std::mutex> lock(collected().mutex);
    collected().log = {};
  }
  if (const CUptiResult code = cuptiActivityRegisterCallbacks(give_buffer, take_buffer); code != CUPTI_SUCCESS) {
    refusal_ = refusal_of("cuptiActivityRegisterCallbacks", code);
    return;
  }
  enabled_ = true;
  for (const CUpti_ActivityKind kind : kKinds) {
    if (const CUptiResult code = cuptiActivityEnable(kind); code != CUPTI_SUCCESS) {
      refusal_ = refusal_of("cuptiActivityEnable", code);
      disable();
      return;
    }
  }
}

ActivitySession::~ActivitySession() {
  disable();
}

void ActivitySession::disable() {
  if (enabled_) {
    for (const CUpti_ActivityKind kind : kKinds) {
      cuptiActivityDisable(kind);
    }
    enabled_ = false;
  }
}

void ActivitySession::begin_launch(std::size_t launch) {
  cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, external_id(launch));
}

void ActivitySession::end_launch() {
  std::uint64_t last = 0;
  cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

operators::gpu::ActivityReport ActivitySession::finish() {
  if (!enabled_) {
    return {{}, 0, 0, refusal_};
  }
  cuptiActivityFlushAll(0);
  disable();
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard<std::mutex> lock(collected().mutex);
  operators::gpu::ActivityReport out = join_activity(collected().log);
  if (out.kernels.empty()) {
    out.refusal = "CUPTI delivered no kernel records, although tracing was accepted";
  }
  return out;
}

} // namespace attnprof::profilers::cuda

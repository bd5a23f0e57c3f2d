// Decoding and attribution of activity records, on buffers made by hand.
#include "profilers/cuda/activity.hpp"
#include "profilers/cuda/cupti_error.hpp"
#include "profilers/cuda/nvml.hpp"
#include "tests/support/catch.hpp"

#include <cstring>
#include <cupti.h>

using namespace attnprof::profilers::cuda;

namespace {

/// A buffer as CUPTI fills it: records one after another.
class Buffer {
 public:
  template <class Record>
  void add(const Record& record) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(record));
  }
  void add_kernel(const char* name, std::uint32_t correlation, std::uint64_t begin_ns, std::uint64_t end_ns) {
    CUpti_ActivityKernel10 kernel;
    std::memset(&kernel, 0, sizeof(kernel));
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = name;
    kernel.correlationId = correlation;
    kernel.start = begin_ns;
    kernel.end = end_ns;
    add(kernel);
  }
  void add_link(std::uint32_t correlation, std::uint64_t external,
                CUpti_ExternalCorrelationKind kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
    CUpti_ActivityExternalCorrelation link;
    std::memset(&link, 0, sizeof(link));
    link.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    link.externalKind = kind;
    link.correlationId = correlation;
    link.externalId = external;
    add(link);
  }
  ActivityLog decoded() {
    // CUPTI reads whole words beyond small buffers.
    std::vector<std::uint64_t> words(bytes_.size() / 8 + 64, 0);
    std::memcpy(words.data(), bytes_.data(), bytes_.size());
    ActivityLog log;
    decode_activity(reinterpret_cast<std::uint8_t*>(words.data()), bytes_.size(), log);
    return log;
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

} // namespace

TEST_CASE("activity: kernels belong to the launch whose external id their API call had", "[gpu]") {
  Buffer buffer;
  buffer.add_link(7, external_id(1));
  buffer.add_kernel("second", 7, 2000, 2500);
  buffer.add_link(6, external_id(0));
  buffer.add_kernel("first", 6, 1000, 1100);
  buffer.add_kernel("also second", 7, 2500, 2600);
  buffer.add_kernel("nobody's", 9, 3000, 3100);
  const auto report = join_activity(buffer.decoded());
  REQUIRE(report.kernels.size() == 4);
  CHECK(report.kernels[0].kernel == "first");
  CHECK(report.kernels[0].launch == 0);
  CHECK(report.kernels[1].launch == 1);
  CHECK(report.kernels[1].end_ns == 2500);
  CHECK(report.kernels[2].launch == 1);
  CHECK(report.kernels[3].launch == -1);
  CHECK(report.invalid == 0);
}

TEST_CASE("activity: records without a time, links of others and other kinds are counted, not used", "[gpu]") {
  Buffer buffer;
  buffer.add_link(1, external_id(0));
  buffer.add_link(2, 5, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1);
  buffer.add_kernel("never ended", 1, 1000, 0);
  buffer.add_kernel("never began", 1, 0, 50);
  buffer.add_kernel(nullptr, 2, 10, 20);
  CUpti_ActivityAPI call;
  std::memset(&call, 0, sizeof(call));
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  buffer.add(call);
  CUpti_ActivityMemset4 fill;
  std::memset(&fill, 0, sizeof(fill));
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.correlationId = 1;
  fill.start = 30;
  fill.end = 40;
  buffer.add(fill);
  const auto report = join_activity(buffer.decoded());
  CHECK(report.invalid == 2);
  REQUIRE(report.kernels.size() == 2);
  CHECK(report.kernels[0].kernel == "?");
  CHECK(report.kernels[0].launch == -1);
  CHECK(report.kernels[1].kernel == "memset");
  CHECK(report.kernels[1].launch == 0);
}

TEST_CASE("activity: an empty buffer is an empty log", "[gpu]") {
  CHECK(join_activity(Buffer().decoded()).kernels.empty());
}

TEST_CASE("CUPTI's refusals say what would help", "[gpu]") {
  CHECK_THAT(refusal_of("f", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
             Catch::Contains("NVreg_RestrictProfilingToAdminUsers=0"));
  CHECK_THAT(refusal_of("f", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED), Catch::Contains("another profiler"));
  CHECK_THAT(refusal_of("f", CUPTI_ERROR_HARDWARE_BUSY), Catch::Contains("DCGM"));
  CHECK_THAT(refusal_of("cuptiSomething", CUPTI_ERROR_UNKNOWN),
             Catch::Contains("cuptiSomething") && Catch::Contains("999"));
}

TEST_CASE("NVML: reasons that lower the clock, and none for an idle card", "[gpu]") {
  CHECK(throttle_reasons(0x1 | 0x2).empty()); // idle, clocks set by the user
  CHECK(throttle_reasons(0x4 | 0x40) == std::vector<std::string>{"power cap", "hardware thermal"});
  const Nvml none("0000:00:00.0");
  if (!none.refusal().empty()) {
    CHECK_FALSE(none.read().sm_clock_hz);
  }
}

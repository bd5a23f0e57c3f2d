#include "profilers/cuda/range_counter.hpp"

#include "operators/core/error.hpp"
#include "profilers/cuda/cupti_error.hpp"
#include "profilers/cuda/metric_catalog.hpp"
#include "profilers/cuda/profiler_host.hpp"

#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <fmt/format.h>

namespace attnprof::profilers::cuda {
namespace {

/// More than any plan asks for: a profiler that never finishes must not hold the process.
constexpr int kMostPasses = 64;

/// The range profiler of a context, enabled as long as this lives.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUctx_st* context) {
    CUpti_RangeProfiler_Enable_Params params{};
    params.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE;
    params.ctx = context;
    require_cupti(cuptiRangeProfilerEnable(&params), "cuptiRangeProfilerEnable");
    object_ = params.pRangeProfilerObject;
  }
  ~RangeProfiler() {
    CUpti_RangeProfiler_Disable_Params params{};
    params.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE;
    params.pRangeProfilerObject = object_;
    cuptiRangeProfilerDisable(&params);
  }
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  std::vector<std::uint8_t> make_image(const std::vector<std::string>& metrics, std::size_t ranges) const {
    std::vector<const char*> names = pointers_of(metrics);
    CUpti_RangeProfiler_GetCounterDataSize_Params size{};
    size.structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE;
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
    require_cupti(cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize");
    std::vector<std::uint8_t> image(size.counterDataSize);
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params params{};
    params.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE;
    params.pRangeProfilerObject = object_;
    params.pCounterData = image.data();
    params.counterDataSize = image.size();
    require_cupti(cuptiRangeProfilerCounterDataImageInitialize(&params),
                  "cuptiRangeProfilerCounterDataImageInitialize");
    return image;
  }

  void set_config(std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& image, std::size_t ranges) const {
    CUpti_RangeProfiler_SetConfig_Params params{};
    params.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE;
    params.pRangeProfilerObject = object_;
    params.pConfig = config.data();
    params.configSize = config.size();
    params.pCounterDataImage = image.data();
    params.counterDataImageSize = image.size();
    params.range = CUPTI_UserRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = ranges;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = 0;
    params.targetNestingLevel = 1;
    require_cupti(cuptiRangeProfilerSetConfig(&params), "cuptiRangeProfilerSetConfig");
  }

  /// True when all passes are done.
  bool run_pass(std::size_t launches, const std::function<void(std::size_t)>& run_launch) const {
    CUpti_RangeProfiler_Start_Params start{};
    start.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE;
    start.pRangeProfilerObject = object_;
    require_cupti(cuptiRangeProfilerStart(&start), "cuptiRangeProfilerStart");
    for (std::size_t i = 0; i < launches; ++i) {
      const std::string name = fmt::format("{:08}", i);
      CUpti_RangeProfiler_PushRange_Params push{};
      push.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE;
      push.pRangeProfilerObject = object_;
      push.pRangeName = name.c_str();
      require_cupti(cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
      run_launch(i);
      cudaDeviceSynchronize();
      CUpti_RangeProfiler_PopRange_Params pop{};
      pop.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE;
      pop.pRangeProfilerObject = object_;
      require_cupti(cuptiRangeProfilerPopRange(&pop), "cuptiRangeProfilerPopRange");
    }
    CUpti_RangeProfiler_Stop_Params stop{};
    stop.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE;
    stop.pRangeProfilerObject = object_;
    require_cupti(cuptiRangeProfilerStop(&stop), "cuptiRangeProfilerStop");
    return stop.isAllPassSubmitted != 0;
  }

  void decode() const {
    CUpti_RangeProfiler_DecodeData_Params params{};
    params.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE;
    params.pRangeProfilerObject = object_;
    require_cupti(cuptiRangeProfilerDecodeData(&params), "cuptiRangeProfilerDecodeData");
  }

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// Values of each range, placed by the launch that its name tells.
std::vector<std::vector<double>> evaluate(const std::string& chip, std::vector<std::uint8_t>& image,
                                          const std::vector<std::string>& metrics, std::size_t launches) {
  const ProfilerHost host(chip);
  CUpti_RangeProfiler_GetCounterDataInfo_Params count{};
  count.structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE;
  count.pCounterDataImage = image.data();
  count.counterDataImageSize = image.size();
  require_cupti(cuptiRangeProfilerGetCounterDataInfo(&count), "cuptiRangeProfilerGetCounterDataInfo");
  std::vector<const char*> names = pointers_of(metrics);
  std::vector<std::vector<double>> out(launches);
  for (std::size_t i = 0; i < count.numTotalRanges; ++i) {
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params range{};
    range.structSize = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE;
    range.pCounterDataImage = image.data();
    range.counterDataImageSize = image.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    require_cupti(cuptiRangeProfilerCounterDataGetRangeInfo(&range), "cuptiRangeProfilerCounterDataGetRangeInfo");
    std::vector<double> values(metrics.size());
    CUpti_Profiler_Host_EvaluateToGpuValues_Params params{};
    params.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
    params.pHostObject = host.get();
    params.pCounterDataImage = image.data();
    params.counterDataImageSize = image.size();
    params.rangeIndex = i;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    params.pMetricValues = values.data();
    require_cupti(cuptiProfilerHostEvaluateToGpuValues(&params), "cuptiProfilerHostEvaluateToGpuValues");
    const std::size_t launch = range.rangeName == nullptr ? i : std::stoul(range.rangeName);
    if (launch < launches) {
      out[launch] = std::move(values);
    }
  }
  return out;
}

std::string unsupported_field(const CUpti_Profiler_DeviceSupported_Params& params) {
  const std::pair<CUpti_Profiler_Support_Level, const char*> fields[] = {
      {params.architecture, "its architecture"},
      {params.sli, "SLI"},
      {params.vGpu, "a virtual GPU"},
      {params.confidentialCompute, "confidential computing"},
      {params.cmp, "a mining card"},
      {params.wsl, "the Windows subsystem for Linux"}};
  for (const auto& [level, name] : fields) {
    if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED) {
      return fmt::format("CUPTI does not count on this device because of {}", name);
    }
  }
  return "CUPTI does not count on this device";
}

} // namespace

std::string chip_name(int device) {
  CUpti_Device_GetChipName_Params params{};
  params.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
  params.deviceIndex = static_cast<std::size_t>(device);
  return cuptiDeviceGetChipName(&params) == CUPTI_SUCCESS && params.pChipName != nullptr ? params.pChipName : "";
}

std::string counter_refusal(int device, CUctx_st* context) {
  try {
    CUpti_Profiler_Initialize_Params initialize{};
    initialize.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
    require_cupti(cuptiProfilerInitialize(&initialize), "cuptiProfilerInitialize");
    CUpti_Profiler_DeviceSupported_Params supported{};
    supported.structSize = CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE;
    supported.cuDevice = device;
    supported.api = CUPTI_PROFILER_RANGE_PROFILING;
    require_cupti(cuptiProfilerDeviceSupported(&supported), "cuptiProfilerDeviceSupported");
    if (supported.isSupported != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) {
      return unsupported_field(supported);
    }
    const RangeProfiler enabled(context); // the permission shows here
    return {};
  } catch (const operators::Error& error) {
    return error.what();
  }
}

operators::gpu::CounterReport count_ranges(CUctx_st* context, const std::string& chip,
                                           const std::vector<std::string>& metrics, std::size_t launches,
                                           const std::function<void(std::size_t)>& run_launch) {
  operators::gpu::CounterReport out;
  try {
    MetricConfig config = configure(chip, metrics);
    const RangeProfiler profiler(context);
    std::vector<std::uint8_t> image = profiler.make_image(metrics, launches);
    profiler.set_config(config.image, image, launches);
    bool done = false;
    while (!done && out.passes < kMostPasses) {
      done = profiler.run_pass(launches, run_launch);
      ++out.passes;
    }
    if (!done) {
      out.refusal = fmt::format("CUPTI had not counted everything after {} passes", out.passes);
      return out;
    }
    profiler.decode();
    out.values = evaluate(chip, image, metrics, launches);
  } catch (const operators::Error& error) {
    out.refusal = error.what();
  }
  return out;
}

} // namespace attnprof::profilers::cuda

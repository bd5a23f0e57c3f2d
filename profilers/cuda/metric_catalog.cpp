#include "profilers/cuda/metric_catalog.hpp"

#include "operators/core/error.hpp"
#include "profilers/cuda/cupti_error.hpp"
#include "profilers/cuda/profiler_host.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::profilers::cuda {

void require_cupti(CUptiResult code, const char* call) {
  if (code != CUPTI_SUCCESS) {
    throw operators::Error(operators::ErrorKind::kUnavailable, refusal_of(call, code));
  }
}

std::vector<const char*> pointers_of(const std::vector<std::string>& names) {
  std::vector<const char*> out;
  for (const std::string& name : names) {
    out.push_back(name.c_str());
  }
  return out;
}

ProfilerHost::ProfilerHost(const std::string& chip) {
  CUpti_Profiler_Host_Initialize_Params params{};
  params.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip.c_str();
  const CUptiResult code = cuptiProfilerHostInitialize(&params);
  if (code == CUPTI_ERROR_INVALID_CHIP_NAME) {
    throw operators::Error(operators::ErrorKind::kUnavailable,
                           fmt::format("CUPTI knows no chip '{}': its version is older than the device", chip));
  }
  require_cupti(code, "cuptiProfilerHostInitialize");
  object_ = params.pHostObject;
}

ProfilerHost::~ProfilerHost() {
  CUpti_Profiler_Host_Deinitialize_Params params{};
  params.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
  params.pHostObject = object_;
  cuptiProfilerHostDeinitialize(&params);
}

std::vector<std::string> metric_names(const std::string& chip) {
  const ProfilerHost host(chip);
  CUpti_Profiler_Host_GetBaseMetrics_Params params{};
  params.structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE;
  params.pHostObject = host.get();
  params.metricType = CUPTI_METRIC_TYPE_COUNTER;
  require_cupti(cuptiProfilerHostGetBaseMetrics(&params), "cuptiProfilerHostGetBaseMetrics");
  std::vector<std::string> out(params.ppMetricNames, params.ppMetricNames + params.numMetrics);
  std::sort(out.begin(), out.end());
  return out;
}

MetricConfig configure(const std::string& chip, const std::vector<std::string>& metrics) {
  const ProfilerHost host(chip);
  std::vector<const char*> names = pointers_of(metrics);
  CUpti_Profiler_Host_ConfigAddMetrics_Params add{};
  add.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
  add.pHostObject = host.get();
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  if (const CUptiResult code = cuptiProfilerHostConfigAddMetrics(&add); code != CUPTI_SUCCESS) {
    throw operators::Error(operators::ErrorKind::kUnavailable,
                           fmt::format("{} has not all of {} metrics, such as {}: {}", chip, metrics.size(),
                                       metrics.empty() ? "-" : metrics.front(),
                                       refusal_of("cuptiProfilerHostConfigAddMetrics", code)));
  }
  CUpti_Profiler_Host_GetConfigImageSize_Params size{};
  size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
  size.pHostObject = host.get();
  require_cupti(cuptiProfilerHostGetConfigImageSize(&size), "cuptiProfilerHostGetConfigImageSize");
  MetricConfig out;
  out.image.resize(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params image{};
  image.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
  image.pHostObject = host.get();
  image.pConfigImage = out.image.data();
  image.configImageSize = out.image.size();
  require_cupti(cuptiProfilerHostGetConfigImage(&image), "cuptiProfilerHostGetConfigImage");
  CUpti_Profiler_Host_GetNumOfPasses_Params passes{};
  passes.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
  passes.pConfigImage = out.image.data();
  passes.configImageSize = out.image.size();
  require_cupti(cuptiProfilerHostGetNumOfPasses(&passes), "cuptiProfilerHostGetNumOfPasses");
  out.passes = static_cast<std::int64_t>(passes.numOfPasses);
  return out;
}

} // namespace attnprof::profilers::cuda

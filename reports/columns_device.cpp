// What only cases on a GPU have.
#include "reports/columns.hpp"

#include <cmath>

namespace attnprof::reports {

using profilers::DeviceReport;
using profilers::GpuCounts;
using profilers::GpuQuantity;
using profilers::Record;

namespace {

template <class F>
CaseColumn device(std::string name, std::string unit, Type type, Origin origin, std::string definition, F get) {
  return {{std::move(name), std::move(unit), Group::kMeasured, type, origin, std::move(definition), ""},
          [get](const Record& r) { return r.device ? get(*r.device) : Cell(); }};
}

Cell whole(std::optional<double> value) {
  return value ? Cell(static_cast<std::int64_t>(std::llround(*value))) : Cell();
}

struct QuantityText {
  GpuQuantity quantity;
  const char* unit;
  const char* definition;
};

constexpr QuantityText kQuantities[] = {
    {GpuQuantity::kDramBytes, "B", "Bytes that the GPU's memory read and wrote."},
    {GpuQuantity::kL2Bytes, "B", "Bytes through the GPU's second-level cache, both directions."},
    {GpuQuantity::kL1Bytes, "B", "Bytes through the first-level caches; the tensor memory accelerator passes them by."},
    {GpuQuantity::kTensorOps, "FLOP", "Operations of the tensor cores, padding and masked tiles included."},
    {GpuQuantity::kFp32Ops, "FLOP", "f32 additions, multiplications and fused multiply-adds, the latter as two."},
    {GpuQuantity::kFp16Ops, "FLOP", "16-bit operations outside the tensor cores, two to an instruction."},
    {GpuQuantity::kFp64Ops, "FLOP", "f64 operations outside the tensor cores."},
    {GpuQuantity::kExpInstructions, "1",
     "Thread instructions of the unit for exp, rsqrt, sin and their kin; counted for f32 only, to save a pass."},
};

KernelColumn of_launch(std::string name, std::string unit, Type type, Origin origin, std::string definition,
                       std::string formula, std::function<Cell(const profilers::LaunchRecord&)> get) {
  return {{std::move(name), std::move(unit), Group::kKernel, type, origin, std::move(definition), std::move(formula)},
          [get](const Record& r, std::size_t i) { return get(r.launches[i]); }};
}

} // namespace

std::vector<CaseColumn> device_columns() {
  const auto text = Type::kText;
  const auto real = Type::kReal;
  const auto timer = Origin::kTimer;
  std::vector<CaseColumn> out = {
      device("device_name", "", text, Origin::kRequest, "GPU that the case ran on; absent on the processor.",
             [](const DeviceReport& d) { return cell(d.name); }),
      device("device_level", "", text, Origin::kRequest,
             "How much of the GPU could be seen: none, events, activity or counters.",
             [](const DeviceReport& d) { return cell(d.level); }),
      device("device_level_reason", "", text, Origin::kRequest, "Why no more could be seen.",
             [](const DeviceReport& d) { return cell(d.level_reason); }),
      device("kernel_time_s", "s", real, timer,
             "Kernels of one run together, from activity records of a run of its own.",
             [](const DeviceReport& d) { return cell(d.kernel_time_s); }),
      device("launch_gap_s", "s", real, timer,
             "Time within that run in which no kernel ran: the GPU waited for launches.",
             [](const DeviceReport& d) { return cell(d.launch_gap_s); }),
      device("device_kernels", "1", Type::kInteger, timer, "Kernels of one run.",
             [](const DeviceReport& d) { return cell(d.kernels); }),
      device("sm_clock_hz", "Hz", real, timer, "Clock of the multiprocessors, median over the samples.",
             [](const DeviceReport& d) { return cell(d.sm_clock_hz); }),
      device("memory_clock_hz", "Hz", real, timer, "Clock of the GPU's memory, median over the samples.",
             [](const DeviceReport& d) { return cell(d.memory_clock_hz); }),
      device("temperature_c", "degC", real, timer, "Highest temperature of the GPU over the samples.",
             [](const DeviceReport& d) { return cell(d.temperature_c); }),
      device("power_w", "W", real, timer, "Highest power of the card over the samples.",
             [](const DeviceReport& d) { return cell(d.power_w); }),
      device("throttled_samples", "1", Type::kInteger, timer,
             "Samples after which the card said that it lowers its clock; they are kept.",
             [](const DeviceReport& d) { return cell(d.throttled_samples); }),
      device("throttle_reasons", "", text, timer, "Why it did.",
             [](const DeviceReport& d) { return cell(d.throttle_reasons); }),
  };
  for (const QuantityText& one : kQuantities) {
    out.push_back(device(std::string(name_of(one.quantity)), one.unit, Type::kInteger, Origin::kCounter, one.definition,
                         [quantity = one.quantity](const DeviceReport& d) { return whole(d.counts.of(quantity)); }));
  }
  return out;
}

std::vector<KernelColumn> device_launch_columns() {
  const auto whole_type = Type::kInteger;
  std::vector<KernelColumn> out;
  for (const QuantityText& one : kQuantities) {
    out.push_back(of_launch(std::string(name_of(one.quantity)), one.unit, whole_type, Origin::kCounter, one.definition,
                            "", [quantity = one.quantity](const profilers::LaunchRecord& launch) {
                              return whole(launch.counts.of(quantity));
                            }));
  }
  out.push_back(of_launch("counted_flops_ratio", "1", Type::kReal, Origin::kDerived,
                          "Operations that the GPU counted over those of the op; above 1 for padded and masked tiles, "
                          "below 1 where maxima and exponentials, which no counter sees, are many.",
                          "(tensor_ops + fp32_ops + fp16_ops + fp64_ops) / flops",
                          [](const profilers::LaunchRecord& launch) {
                            return cell(ratio(all_ops(launch.counts), real(launch.cost.work.flops())));
                          }));
  out.push_back(of_launch("counted_bytes_ratio", "1", Type::kReal, Origin::kDerived,
                          "Bytes of memory that the GPU counted over those that cross the launch boundary; below 1 "
                          "where operands were still in the second-level cache.",
                          "gpu_dram_bytes / bytes", [](const profilers::LaunchRecord& launch) {
                            return cell(ratio(launch.counts.of(GpuQuantity::kDramBytes),
                                              real(launch.cost.bytes.read + launch.cost.bytes.written)));
                          }));
  return out;
}

} // namespace attnprof::reports

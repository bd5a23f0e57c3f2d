// One launch of a case.
#include "reports/columns.hpp"

#include <fmt/format.h>

namespace attnprof::reports {

using operators::LaunchCost;
using profilers::LaunchRecord;
using profilers::Record;
using profilers::RoofVerdict;

namespace {

using Get = std::function<Cell(const Record&, std::size_t)>;

KernelColumn column(std::string name, std::string unit, Type type, Origin origin, std::string definition,
                    std::string formula, Get get) {
  return {{std::move(name), std::move(unit), Group::kKernel, type, origin, std::move(definition), std::move(formula)},
          std::move(get)};
}

template <class F>
Get from_cost(F get) {
  return [get](const Record& r, std::size_t i) { return cell(get(r.launches[i].cost)); };
}

template <class F>
Get from_roof(F get) {
  return [get](const Record& r, std::size_t i) {
    return i < r.launch_roofs.size() ? cell(get(r.launch_roofs[i])) : Cell();
  };
}

operators::Count bytes_of(const LaunchCost& cost) {
  return cost.bytes.read + cost.bytes.written;
}

/// Time of a launch over that of all; absent where any launch has no time.
std::optional<double> time_share(const Record& record, std::size_t launch) {
  double whole_s = 0.0;
  for (const LaunchRecord& each : record.launches) {
    if (!each.time_median_s) {
      return {};
    }
    whole_s += *each.time_median_s;
  }
  return ratio(record.launches[launch].time_median_s, whole_s);
}

std::vector<KernelColumn> counted() {
  const auto whole = Type::kInteger;
  const auto exact = Origin::kClosedForm;
  const auto model = Origin::kModel;
  return {
      column("scope", "", Type::kText, Origin::kRequest, "Place in the network.", "",
             from_cost([](const LaunchCost& c) { return c.scope; })),
      column("op", "", Type::kText, Origin::kRequest, "Primitive operation.", "",
             from_cost([](const LaunchCost& c) { return c.op; })),
      column("shape", "", Type::kText, Origin::kRequest, "The sizes that matter to the primitive.", "",
             from_cost([](const LaunchCost& c) { return c.shape; })),
      column("macs", "MAC", whole, exact, "Multiply-adds as executed.", "",
             from_cost([](const LaunchCost& c) { return c.work.macs; })),
      column("flops", "FLOP", whole, exact, "All floating-point operations.", "2 * macs + vector_flops",
             from_cost([](const LaunchCost& c) { return c.work.flops(); })),
      column("vector_flops", "FLOP", whole, exact, "FLOPs outside matrix products and convolutions.", "",
             from_cost([](const LaunchCost& c) { return c.work.vector_flops; })),
      column("transcendentals", "FLOP", whole, exact, "exp and its kin among the vector FLOPs.", "",
             from_cost([](const LaunchCost& c) { return c.work.transcendentals; })),
      column("useful_macs", "MAC", whole, exact, "Multiply-adds on attended pairs and on taps inside the image.", "",
             from_cost([](const LaunchCost& c) { return c.work.useful_macs; })),
      column("bytes_read", "B", whole, model, "Bytes read, each operand once.", "",
             from_cost([](const LaunchCost& c) { return c.bytes.read; })),
      column("bytes_written", "B", whole, model, "Bytes written, each operand once.", "",
             from_cost([](const LaunchCost& c) { return c.bytes.written; })),
      column("bytes", "B", whole, model, "Bytes that cross the launch boundary.", "bytes_read + bytes_written",
             from_cost([](const LaunchCost& c) { return bytes_of(c); })),
      column("intensity", "FLOP/B", Type::kReal, Origin::kDerived, "Arithmetic intensity; absent where no byte moves.",
             "flops / bytes",
             from_cost([](const LaunchCost& c) { return ratio(real(c.work.flops()), real(bytes_of(c))); })),
      column("working_set_bytes", "B", whole, model, "Distinct bytes touched.", "",
             from_cost([](const LaunchCost& c) { return c.bytes.working_set; })),
      column("weight_bytes_read", "B", whole, model, "Of bytes_read, those of weights and constant tables.", "",
             from_cost([](const LaunchCost& c) { return c.bytes.weights_read; })),
      column("kv_cache_bytes_read", "B", whole, model, "Of bytes_read, those of keys and values of past tokens.", "",
             from_cost([](const LaunchCost& c) { return c.bytes.cache_read; })),
  };
}

std::optional<double> over(const std::optional<std::int64_t>& part, std::optional<double> whole) {
  return part ? ratio(static_cast<double>(*part), whole) : std::nullopt;
}

KernelColumn simulated_column(std::string name, std::string unit, std::string definition, std::string formula,
                              std::optional<std::int64_t> profilers::SimulatedCounts::*member) {
  return column(std::move(name), std::move(unit), Type::kInteger, Origin::kModel, std::move(definition),
                std::move(formula),
                [member](const Record& r, std::size_t i) { return cell(r.launches[i].simulated.*member); });
}

std::vector<KernelColumn> traffic() {
  using profilers::SimulatedCounts;
  std::vector<KernelColumn> out;
  for (const ModelledColumn& modelled : modelled_columns()) {
    out.push_back(column(
        modelled.name, "B", Type::kInteger, Origin::kModel, modelled.definition, "",
        [member = modelled.member](const Record& r, std::size_t i) { return cell(r.launches[i].traffic.*member); }));
  }
  const std::vector<KernelColumn> others = {
      column("modelled_bytes_ratio", "1", Type::kReal, Origin::kDerived,
             "Bytes that cross the border of memory by the cache model over those that the launch moves; below 1 where "
             "caches hold operands.",
             "modelled_dram_bytes / bytes",
             [](const Record& r, std::size_t i) {
               return cell(over(r.launches[i].traffic.dram_bytes, real(bytes_of(r.launches[i].cost))));
             }),
      column("waste_factor", "1", Type::kReal, Origin::kDerived,
             "Executed over useful multiply-adds: above 1 for masked pairs and padding.", "macs / useful_macs",
             from_cost([](const LaunchCost& c) { return waste_of(c.work); })),
      simulated_column("instructions", "1", "Instructions of the launch on the processor that valgrind simulates.", "",
                       &SimulatedCounts::instructions),
      simulated_column("l1_misses", "1", "Data misses of the simulated first cache level.", "",
                       &SimulatedCounts::l1_misses),
      simulated_column("llc_misses", "1", "Data misses of the simulated last cache level.", "",
                       &SimulatedCounts::llc_misses),
      simulated_column("dram_bytes", "B", "Line fills of the simulated last cache level; without write-backs.",
                       "llc_misses * bytes of a line", &SimulatedCounts::dram_bytes),
      column("simulated_bytes_ratio", "1", Type::kReal, Origin::kDerived,
             "Line fills of the simulation over those of the cache model.", "dram_bytes / modelled_dram_fill_bytes",
             [](const Record& r, std::size_t i) {
               const auto& fills = r.launches[i].traffic.dram_fill_bytes;
               return cell(over(r.launches[i].simulated.dram_bytes,
                                fills ? std::optional(static_cast<double>(*fills)) : std::nullopt));
             }),
  };
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

std::vector<KernelColumn> timed() {
  const auto derived = Origin::kDerived;
  return {
      column("kernel_impl", "", Type::kText, Origin::kRequest, "Implementation that ran.", "",
             [](const Record& r, std::size_t i) { return cell(r.launches[i].kernel_impl); }),
      column("time_median_s", "s", Type::kReal, Origin::kTimer,
             "Median time in the per-launch pass; explains the time of the case, does not add up to it exactly.", "",
             [](const Record& r, std::size_t i) { return cell(r.launches[i].time_median_s); }),
      column("flops_per_s", "FLOP/s", Type::kReal, derived, "Counted FLOPs over the median time.",
             "flops / time_median_s",
             [](const Record& r, std::size_t i) {
               return cell(ratio(real(r.launches[i].cost.work.flops()), r.launches[i].time_median_s));
             }),
      column("bytes_per_s", "B/s", Type::kReal, derived, "Counted bytes over the median time.", "bytes / time_median_s",
             [](const Record& r, std::size_t i) {
               return cell(ratio(real(bytes_of(r.launches[i].cost)), r.launches[i].time_median_s));
             }),
      column("time_share", "1", Type::kReal, derived, "Share of the time of all launches of the case.", "",
             [](const Record& r, std::size_t i) { return cell(time_share(r, i)); }),
      column("roof_time_s", "s", Type::kReal, derived, "Least time by the ceilings.",
             "max(matrix, vector, transcendental, memory time)",
             from_roof([](const RoofVerdict& v) { return v.roof_time_s; })),
      column("attainable_flops_per_s", "FLOP/s", Type::kReal, derived, "FLOP rate that the ceilings allow.",
             "flops / roof_time_s", from_roof([](const RoofVerdict& v) { return v.attainable_flops_per_s; })),
      column("roof_fraction", "1", Type::kReal, derived, "How near the launch comes to its roof.",
             "roof_time_s / time_median_s", from_roof([](const RoofVerdict& v) { return v.roof_fraction; })),
      column(
          "bound", "", Type::kText, derived,
          "Largest of the four times: compute, vector, transcendental, memory; overhead where that of an empty launch "
          "accounts for most of what exceeds the roof; unexplained where less than a tenth of the roof is reached.",
          "", from_roof([](const RoofVerdict& v) { return v.bound; })),
      column("bound_margin", "1", Type::kReal, derived,
             "Deciding time over the next one; below 1.2 the bound is ambiguous.", "",
             from_roof([](const RoofVerdict& v) { return v.bound_margin; })),
      column(
          "roof_level", "", Type::kText, derived,
          "Memory level whose bandwidth is the memory roof: activations come from where the working set fits, weights "
          "and caches from where the footprint of the case fits, or from DRAM where they were evicted.",
          "", from_roof([](const RoofVerdict& v) { return v.roof_level; })),
      column(
          "roof_traffic", "", Type::kText, derived,
          "Kind of traffic whose bandwidth is the memory roof, the one with the most similar mix of reads and writes: "
          "read, write, copy or triad, with _nt for non-temporal stores.",
          "", from_roof([](const RoofVerdict& v) { return v.roof_traffic; })),
      column("implausible", "", Type::kText, derived,
             "Why the time cannot be right, with the likely cause; absent where it can.", "",
             from_roof([](const RoofVerdict& v) { return v.implausible; })),
  };
}

} // namespace

std::vector<KernelColumn> launch_columns() {
  std::vector<KernelColumn> out = {
      {{"id", "", Group::kCase, Type::kText, Origin::kRequest, "The case that the launch belongs to.", ""},
       [](const Record& r, std::size_t) { return cell(r.id); }}};
  for (auto part : {counted(), traffic(), timed(), device_launch_columns()}) {
    std::move(part.begin(), part.end(), std::back_inserter(out));
  }
  out.push_back({{"schema_version", "1", Group::kCase, Type::kInteger, Origin::kRequest,
                  "Version of these columns, as in results.csv.", ""},
                 [](const Record&, std::size_t) { return Cell(static_cast<std::int64_t>(kSchemaVersion)); }});
  return out;
}

} // namespace attnprof::reports

// What a case is and what it counts.
#include "operators/workload.hpp"
#include "reports/columns.hpp"

#include <fmt/format.h>

namespace attnprof::reports {

using operators::Totals;
using profilers::Record;

namespace {

CaseColumn text_of_record(std::string name, std::string definition, std::string Record::*text) {
  return {{std::move(name), "", Group::kCase, Type::kText, Origin::kRequest, std::move(definition), ""},
          [text](const Record& r) { return cell(r.*text); },
          text};
}

} // namespace

std::vector<CaseColumn> identity_columns() {
  return {
      text_of_record("id", "Canonical name of the case, which the commands cost and run accept back.", &Record::id),
      {{"status", "", Group::kCase, Type::kText, Origin::kRequest,
        "ok, skipped, unsupported, invalid, incorrect or failed; every planned case has exactly one.", ""},
       [](const Record& r) { return Cell(std::string(name_of(r.status))); }},
      text_of_record("reason", "Why the status is not ok, in a sentence.", &Record::reason),
  };
}

std::vector<CaseColumn> config_columns() {
  std::vector<CaseColumn> out;
  for (const operators::ParamSpec& param : operators::all_params()) {
    if (param.name == "threads") {
      continue; // the measured column of this name holds what was used
    }
    Type type = Type::kText;
    switch (param.kind) {
    case operators::ParamKind::kInteger: type = Type::kInteger; break;
    case operators::ParamKind::kReal: type = Type::kReal; break;
    case operators::ParamKind::kFlag: type = Type::kFlag; break;
    case operators::ParamKind::kChoice:
    case operators::ParamKind::kGrid:
    case operators::ParamKind::kText: type = Type::kText; break;
    }
    const std::string meaning = param.help.empty() ? "" : fmt::format(": {}", param.help);
    out.push_back({{param.name, type == Type::kReal ? "1" : "", Group::kConfig, type, Origin::kRequest,
                    fmt::format("Parameter {}{}.", param.flag(), meaning), ""},
                   [name = param.name](const Record& r) { return r.config.get(name); }});
  }
  return out;
}

namespace {

template <class F>
CaseColumn total(std::string name, std::string unit, Origin origin, std::string definition, std::string formula,
                 F get) {
  return {{std::move(name), std::move(unit), Group::kTotals, Type::kInteger, origin, std::move(definition),
           std::move(formula)},
          [get](const Record& r) { return r.totals ? cell(get(*r.totals)) : Cell(); }};
}

} // namespace

const std::vector<ModelledColumn>& modelled_columns() {
  using profilers::LevelTraffic;
  static const std::vector<ModelledColumn> kColumns = {
      {"modelled_l2_bytes", "Bytes between the first cache level and the second, by the cache model.",
       &LevelTraffic::l2_bytes},
      {"modelled_l3_bytes", "Bytes between the second cache level and the third, by the cache model.",
       &LevelTraffic::l3_bytes},
      {"modelled_dram_bytes", "Bytes between the last cache and memory, write-backs included, by the cache model.",
       &LevelTraffic::dram_bytes},
      {"modelled_dram_fill_bytes", "Of modelled_dram_bytes, those read: misses of the last cache.",
       &LevelTraffic::dram_fill_bytes},
  };
  return kColumns;
}

std::optional<std::int64_t> modelled(const Record& record,
                                     std::optional<std::int64_t> profilers::LevelTraffic::*member) {
  std::optional<std::int64_t> sum;
  for (const profilers::LaunchRecord& launch : record.launches) {
    const std::optional<std::int64_t>& part = launch.traffic.*member;
    if (!part) {
      return {};
    }
    sum = sum.value_or(0) + *part;
  }
  return sum;
}

std::optional<double> waste_of(const operators::Work& work) {
  return ratio(real(work.macs), real(work.useful_macs));
}

namespace {

CaseColumn totals_ratio(std::string name, std::string definition, std::string formula,
                        std::function<std::optional<double>(const Record&)> get) {
  return {
      {std::move(name), "1", Group::kTotals, Type::kReal, Origin::kDerived, std::move(definition), std::move(formula)},
      [get](const Record& r) { return r.totals ? cell(get(r)) : Cell(); }};
}

/// From what must move to what moves through each level, and from useful work to executed work.
std::vector<CaseColumn> ladder_columns() {
  using profilers::LevelTraffic;
  const auto compulsory = [](const Record& r) { return real(r.totals->compulsory_bytes); };
  std::vector<CaseColumn> out;
  for (const ModelledColumn& column : modelled_columns()) {
    out.push_back(
        {{column.name, "B", Group::kTotals, Type::kInteger, Origin::kModel, column.definition, "sum over launches"},
         [member = column.member](const Record& r) { return cell(modelled(r, member)); }});
  }
  const std::vector<CaseColumn> ratios = {
      totals_ratio(
          "launch_bytes_ratio", "Bytes that cross launch boundaries over those that must move at all.",
          "bytes / compulsory_bytes",
          [=](const Record& r) { return ratio(real(r.totals->bytes_read + r.totals->bytes_written), compulsory(r)); }),
      totals_ratio("modelled_bytes_ratio",
                   "Bytes that cross the border of memory by the cache model over those that must move at all; below 1 "
                   "where caches keep operands from one run to the next.",
                   "modelled_dram_bytes / compulsory_bytes",
                   [=](const Record& r) {
                     const auto bytes = modelled(r, &LevelTraffic::dram_bytes);
                     return ratio(bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt, compulsory(r));
                   }),
      totals_ratio("waste_factor", "Executed over useful multiply-adds: above 1 for masked pairs and padding.",
                   "macs / useful_macs", [](const Record& r) { return waste_of(r.totals->work); }),
  };
  out.insert(out.end(), ratios.begin(), ratios.end());
  return out;
}

} // namespace

std::vector<CaseColumn> totals_columns() {
  const auto exact = Origin::kClosedForm;
  const auto model = Origin::kModel;
  std::vector<CaseColumn> out = {
      total("macs", "MAC", exact, "Multiply-adds of matrix products and convolutions as executed, padding included.",
            "sum over launches", [](const Totals& t) { return t.work.macs; }),
      total("flops", "FLOP", exact, "All floating-point operations; one multiply-add is two.",
            "matmul_flops + vector_flops", [](const Totals& t) { return t.work.flops(); }),
      total("matmul_flops", "FLOP", exact, "FLOPs of matrix products and convolutions.", "2 * macs",
            [](const Totals& t) { return t.work.matmul_flops(); }),
      total("vector_flops", "FLOP", exact,
            "All other FLOPs: add, subtract, multiply, divide, max, compare, exp and its kin, one each.",
            "sum over launches", [](const Totals& t) { return t.work.vector_flops; }),
      total("transcendentals", "FLOP", exact, "exp, erf, tanh, sigmoid, rsqrt, sin and cos among the vector FLOPs.",
            "sum over launches", [](const Totals& t) { return t.work.transcendentals; }),
      total("useful_macs", "MAC", exact, "Multiply-adds on attended query-key pairs and on taps inside the image.",
            "sum over launches", [](const Totals& t) { return t.work.useful_macs; }),
      total("bytes_read", "B", model, "Bytes that the launches read, each operand once a launch.", "sum over launches",
            [](const Totals& t) { return t.bytes_read; }),
      total("bytes_written", "B", model, "Bytes that the launches write, each operand once a launch.",
            "sum over launches", [](const Totals& t) { return t.bytes_written; }),
      total("bytes", "B", model, "Bytes that cross launch boundaries.", "bytes_read + bytes_written",
            [](const Totals& t) { return t.bytes_read + t.bytes_written; }),
      total("compulsory_bytes", "B", model, "Inputs, weights, caches and outputs of the whole case, each once.", "",
            [](const Totals& t) { return t.compulsory_bytes; }),
  };
  out.push_back({{"intensity", "FLOP/B", Group::kTotals, Type::kReal, Origin::kDerived,
                  "Arithmetic intensity; absent where no byte moves.", "flops / bytes"},
                 [](const Record& r) {
                   return r.totals ? cell(ratio(real(r.totals->work.flops()),
                                                real(r.totals->bytes_read + r.totals->bytes_written)))
                                   : Cell();
                 }});
  out.push_back(total("params", "1", exact, "Elements of all weights, shared ones once.", "",
                      [](const Totals& t) { return t.params; }));
  out.push_back(total("active_params", "1", exact, "Elements of the weights that one token uses: without idle experts.",
                      "", [](const Totals& t) { return t.active_params; }));
  out.push_back(total("weight_bytes", "B", exact, "Bytes of all weights in memory.", "",
                      [](const Totals& t) { return t.weight_bytes; }));
  out.push_back({{"kv_cache_bytes", "B", Group::kTotals, Type::kInteger, Origin::kClosedForm,
                  "Bytes of the key and value caches at their final length; absent where the case has no cache.", ""},
                 [](const Record& r) {
                   return r.totals && r.totals->kv_cache_bytes > 0 ? cell(r.totals->kv_cache_bytes) : Cell();
                 }});
  out.push_back(total("peak_activation_bytes", "B", exact,
                      "Largest sum of inputs, outputs and intermediates that are alive at one launch.", "",
                      [](const Totals& t) { return t.peak_activation_bytes; }));
  out.push_back(
      total("launches", "1", exact, "Launches of the chosen plan.", "", [](const Totals& t) { return t.launches; }));
  for (CaseColumn& column : ladder_columns()) {
    out.push_back(std::move(column));
  }
  return out;
}

std::vector<CaseColumn> closing_columns() {
  return {
      {{"warnings", "", Group::kCase, Type::kTextList, Origin::kDerived,
        "Sentences about anything that weakens the figures; in CSV joined by '; '.", ""},
       [](const Record& r) { return cell(join_list(all_warnings(r))); }},
      {{"max_relative_error", "1", Group::kCase, Type::kReal, Origin::kDerived,
        "Largest deviation from the float64 reference relative to the reference's magnitude, where it was checked.",
        ""},
       [](const Record& r) { return cell(r.max_relative_error); }},
      {{"verified_by", "", Group::kCase, Type::kText, Origin::kDerived,
        "What was compared: reference (the case itself against the float64 reference), or twin and the id of the same "
        "workload with smaller sizes; absent where nothing was compared.",
        ""},
       [](const Record& r) { return cell(r.verified_by); }},
      {{"machine_fingerprint", "", Group::kCase, Type::kText, Origin::kRequest,
        "Names the machine, build and settings; results of different fingerprints do not compare.", ""},
       [](const Record& r) { return cell(r.machine_fingerprint); }},
      {{"schema_version", "1", Group::kCase, Type::kInteger, Origin::kRequest,
        "Version of these columns: it grows when one changes its meaning or vanishes; JSON has it once a file or line.",
        ""},
       [](const Record& /*same for all*/) { return Cell(static_cast<std::int64_t>(kSchemaVersion)); }},
  };
}

} // namespace attnprof::reports

#pragma once
#include "operators/core/registry.hpp"

#include <array>

namespace attnprof::operators {

/// All parameters of all workloads in printing order: the shared ones, then those that single descriptors add.
const std::vector<ParamSpec>& all_params();
/// Throws Error(kUsage) that names the nearest flag.
const ParamSpec& find_param(std::string_view name);

/// The parameters that choose a workload: they decide which others apply.
inline constexpr std::array<std::string_view, 3> kWorkloadNames = {"model", "layout", "variant"};
bool names_workload(std::string_view name);

/// Whether a parameter says how and where a workload runs and nothing of what it is, so that no other value follows
/// from it: plan, device, threads.
bool is_of_run(std::string_view name);
/// Whether the workload named by model, or layout and variant, takes this parameter.
bool takes_param(const Config& given, std::string_view name);
/// "layouts standard, sandwich; variants gqa": who takes the parameter, for error messages.
std::string takers_of(std::string_view name);

/// Completes what was given with defaults and derived values, in the order of all_params(). Parameters that the
/// workload does not take must have been removed. Throws Error(kUsage | kInvalid | kOverflow) with the reason.
Config resolve(const Config& given);

/// resolve() of many configurations of one workload: what follows from the workload alone is looked up once.
class Resolver {
 public:
  /// For configurations that give the same parameters as this one and name the same workload. Throws Error(kUsage)
  /// where its names are unknown.
  explicit Resolver(const Config& given);
  /// resolve(given) of such a configuration, all of whose parameters the workload takes, into `out`, whose memory is
  /// used again. After an error `out` holds anything.
  void resolve(const Config& given, Config& out) const;
  /// Throws Error(kUsage) where the workload does not take a parameter that is given.
  void check_taken(const Config& given) const;

 private:
  [[nodiscard]] bool takes(std::string_view name) const;

  const ModelDescriptor* model_ = nullptr; ///< null: a layout
  const LayoutDescriptor* layout_ = nullptr;
  const VariantDescriptor* variant_ = nullptr; ///< null in a layout without one
  Config stated_;                              ///< what the layout decides where nothing was given
  Config defaults_;                            ///< the same with the defaults of parameters
};

/// Canonical one-line id of a resolved configuration, "variant=mha:batch=1:seq_len=196:...", which parse_case_id reads
/// back.
std::string case_id(const Config& resolved);

/// case_id of many configurations: what follows from their names alone is looked up again only where they change.
class CaseIds {
 public:
  /// case_id(resolved), which stays as it is until the next call.
  const std::string& of(const Config& resolved);
  /// The same for a configuration that differs from the last one in values of is_of_run() alone.
  const std::string& of_other_run(const Config& resolved);

 private:
  struct Part {
    std::size_t place = 0; ///< in all_params(), whose order is that of ids
    std::size_t entry = 0; ///< in the values of the configuration
    std::string prefix;    ///< ":seq_len="
    Value silent;          ///< left out where it has this value
  };
  void look_up(const Config& resolved);
  void append_parts(const Config& resolved, std::size_t begin, std::size_t end);

  std::vector<std::string> names_; ///< of the values of the last configuration
  std::vector<Part> parts_;
  std::size_t first_of_run_ = 0; ///< of the parts
  std::size_t length_ = 0;       ///< of the id in front of it
  std::string id_;
};

/// Throws Error(kUsage) that names the part it cannot read.
Config parse_case_id(std::string_view id);
bool looks_like_case_id(std::string_view text);

/// The op list of a resolved configuration, one op per launch of the eager plan. The lists of `recycled` are emptied
/// and used again: a hundred thousand graphs in turn need the memory of one. The order of the ops and all that is
/// counted are the same with any detail.
Graph build(const Config& resolved, Graph recycled = {}, Detail detail = Detail::kWhole);

} // namespace attnprof::operators

// What the figures say, in plain words.
#pragma once
#include "profilers/record.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::reports {

/// What bounds what, in one sentence for a record: "Memory bandwidth of DRAM bounds 62 % of the launch time of mha
/// (softmax and copies); matrix products bound 31 %." Says so where nothing is known, and where no roof explains the
/// time.
std::string verdict_sentence(const profilers::Record& record);

/// The same over several records: which cases are bound by what, whether fewer FLOPs meant less time, and how many
/// cases did not run. For a single record, its own sentence.
std::string verdict_sentence(const std::vector<profilers::Record>& records);
/// The same without a word on FLOPs against time.
std::string bounds_sentence(const std::vector<profilers::Record>& records);

/// "gqa standard seq_len=196": the parameters that tell the records apart, for each record; parameters that follow from
/// those named before are left out. Where nothing differs, the name of the workload.
std::vector<std::string> short_names(const std::vector<profilers::Record>& records);
/// Of some of them, told apart from all.
std::vector<std::string> short_names(const std::vector<profilers::Record>& records,
                                     const std::vector<std::size_t>& which);
/// Those parameters, in printing order; the workload (model, layout, variant) is always among them where it is set.
std::vector<std::string> telling_params(const std::vector<profilers::Record>& records);
/// The same for a record by itself: the workload, its size and whatever is not usual.
std::string short_name(const profilers::Record& record);

/// "memory L2", "compute", "memory? L2" where the next bound is near; "-" where it is unknown.
std::string bound_text(const std::string& bound, bool ambiguous, const std::string& level);
std::string bound_text(const profilers::RoofVerdict& roof);

} // namespace attnprof::reports

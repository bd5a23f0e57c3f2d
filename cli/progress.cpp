#include "cli/progress.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::max(0.0, seconds)));
  const std::int64_t hours = whole / 3600;
  const std::int64_t minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string progress_bar(std::size_t done, std::size_t total, std::optional<double> remaining_s, std::string_view label,
                         std::size_t width) {
  constexpr std::size_t kCells = 20;
  const std::size_t full = total == 0 ? kCells : std::min(done, total) * kCells / total;
  std::string out = fmt::format("[{}{}] {}/{}", std::string(full, '#'), std::string(kCells - full, '-'), done, total);
  if (remaining_s) {
    out += fmt::format("  ETA {}", clock_text(*remaining_s));
  }
  out += fmt::format("  {}", label);
  return out.substr(0, width); // a line that wraps could not be drawn over
}

Progress::Progress(std::ostream& err, bool terminal, std::size_t width, std::size_t total, profilers::Clock& clock)
    : err_(err), terminal_(terminal), width_(std::max<std::size_t>(width, 20)), total_(total), clock_(clock),
      begin_ns_(clock.now_ns()) {}

std::optional<double> Progress::remaining_s() {
  if (done_ == 0) {
    return std::nullopt;
  }
  const double elapsed_s = profilers::seconds_between(begin_ns_, clock_.now_ns());
  return elapsed_s / static_cast<double>(done_) * static_cast<double>(total_ - std::min(done_, total_));
}

void Progress::begin(std::string_view label) {
  if (terminal_) {
    draw(label);
  }
}

void Progress::end(std::string_view line) {
  clear();
  ++done_;
  const std::optional<double> left_s = terminal_ ? std::nullopt : remaining_s();
  err_ << fmt::format("[{}/{}{}] {}\n", done_, total_,
                      left_s && *left_s > 0 ? fmt::format(", ETA {}", clock_text(*left_s)) : std::string(), line)
       << std::flush;
}

void Progress::note(std::string_view sentence) {
  clear();
  err_ << fmt::format("attnprof: {}\n", sentence) << std::flush;
}

void Progress::finish() {
  clear();
}

void Progress::draw(std::string_view label) {
  clear();
  err_ << progress_bar(done_, total_, remaining_s(), label, width_ - 1) << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) {
    err_ << "\r\x1b[K";
    drawn_ = false;
  }
}

} // namespace attnprof::cli

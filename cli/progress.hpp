// How far a sweep is, on stderr: a bar that is drawn over on a terminal, plain lines elsewhere.
#pragma once

#include "profilers/clock.hpp"

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace attnprof::cli {

/// "0:07", "12:30", "1:02:03"; rounded up, so that it never claims to be done early.
std::string clock_text(double seconds);

/// "[#####-----] 5/10  ETA 0:12  mha" in at most `width` columns. The remaining time is that of the cases so far, and
/// absent while there are none.
std::string progress_bar(std::size_t done, std::size_t total, std::optional<double> remaining_s, std::string_view label,
                         std::size_t width);

class Progress {
 public:
  Progress(std::ostream& err, bool terminal, std::size_t width, std::size_t total, profilers::Clock& clock);
  /// A case begins.
  void begin(std::string_view label);
  /// It ended; `line` says how.
  void end(std::string_view line);
  /// A sentence of its own.
  void note(std::string_view sentence);
  /// Takes the bar away.
  void finish();

 private:
  void draw(std::string_view label);
  void clear();
  [[nodiscard]] std::optional<double> remaining_s();

  std::ostream& err_;
  bool terminal_;
  std::size_t width_;
  std::size_t total_;
  profilers::Clock& clock_;
  std::int64_t begin_ns_;
  std::size_t done_ = 0;
  bool drawn_ = false;
};

} // namespace attnprof::cli

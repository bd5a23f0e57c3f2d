#pragma once
#include <stdexcept>
#include <string>

namespace attnprof::operators {

/// What went wrong, as far as the caller has to tell cases apart (exit code, status of a row).
enum class ErrorKind {
  kUsage,       ///< the request cannot be understood: exit 2
  kInvalid,     ///< a configuration contradicts itself: exit 2 alone, a row of status invalid in a sweep
  kOverflow,    ///< a count does not fit 64 bits: treated as invalid
  kUnsupported, ///< understood, but no executor of this device can run it
  kMemory,      ///< would not fit in the memory that is there
  kUnavailable, ///< device, library or counter is absent: exit 7
  kDeviceLost,  ///< an earlier fault took the device away from this process
  kIo,          ///< a path cannot be read or written: exit 2
  kInternal,    ///< a broken invariant: exit 1
};

/// Thrown at boundaries; the text is a sentence that holds the offending value and the way out.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

} // namespace attnprof::operators

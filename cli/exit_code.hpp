#pragma once

namespace attnprof::cli {

/// What the process returns; never a count.
enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,     ///< a broken invariant
  kExitUsage = 2,        ///< the request cannot be understood, or a path cannot be read or written
  kExitRegression = 3,   ///< a gate found a slower row, or with --fail-on implausible a figure that cannot be right
  kExitRowFailed = 4,    ///< a row failed or was incorrect
  kExitRowMissing = 5,   ///< a gate did not find a row again
  kExitInconclusive = 6, ///< a gate could not decide, with --fail-on inconclusive
  kExitUnavailable = 7,  ///< the requested device or counter is absent
  kExitSignalBase = 128, ///< plus the signal's number after an interrupt, as shells report it
};

} // namespace attnprof::cli

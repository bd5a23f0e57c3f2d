// Values of the flags that are no workload parameters: durations, ratios, counts and shards. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace attnprof::cli {

/// Seconds from `0.5`, `10ms`, `250us`, `90s`, `5m` or `1h`; a bare number is seconds. Throws Error(kUsage) unless it
/// is positive and at most 30 days.
double parse_duration_s(std::string_view flag, std::string_view text);

/// 0.05 from `5%` or `0.05`. A bare number of 1 or more is refused, because it could mean either. Throws Error(kUsage).
double parse_ratio(std::string_view flag, std::string_view text);

/// A whole number from `min` to `max`. Throws Error(kUsage).
std::int64_t parse_count(std::string_view flag, std::string_view text, std::int64_t min, std::int64_t max);

/// Bytes from `80GB`, `512MiB` or `24G` (SI: 1 GB = 1e9 B, 1 GiB = 2^30 B); a bare number is refused, since it could
/// mean either. Throws Error(kUsage) unless it is positive and below 2^60.
std::int64_t parse_bytes(std::string_view flag, std::string_view text);

/// One of `count` parts of a plan; `index` counts from 1.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};
/// Reads `I/N` with 1 <= I <= N. Throws Error(kUsage).
Shard parse_shard(std::string_view text);

} // namespace attnprof::cli

#pragma once
#include "operators/core/graph.hpp"
#include "operators/kernels/gpu/device.hpp"

#include <optional>
#include <span>
#include <string>

namespace attnprof::operators::gpu {

/// Where the memory of a program lies on the device; null addresses are allowed where only sizes are asked for.
struct Memory {
  std::span<std::byte* const> tensors;
  std::byte* scratch = nullptr;     ///< scratch_bytes() of the launch, or more
  std::int64_t workspace_bytes = 0; ///< of the scratch: what a library may use
};

/// Why no kernel takes this launch, as a sentence; absent where one does.
std::optional<std::string> refusal(const Graph& graph, const Op& op, const DeviceFacts& facts);

/// Scratch that the own kernel of a launch needs.
std::int64_t scratch_bytes(const Graph& graph, const Op& op, const DeviceFacts& facts);

/// The launch as plain values for the kernels. The op must not be refused.
LaunchArgs plan_launch(const Graph& graph, const Op& op, const DeviceFacts& facts, const Memory& memory);

} // namespace attnprof::operators::gpu

#pragma once
#include "operators/kernels/gpu/args.hpp"

#include <string>

namespace attnprof::operators::gpu {

/// What the kernel_impl column calls the own kernel of a launch.
std::string own_name(const LaunchArgs& args);

} // namespace attnprof::operators::gpu

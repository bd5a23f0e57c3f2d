// What a GPU answers, written down, so that a machine without one can replay it.
#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <filesystem>
#include <memory>

namespace attnprof::profilers {

/// A device that passes everything on and, at its end, writes what was answered to `file`: facts, level, event times,
/// kernel times and gaps, states of the card, metric values and ceilings, as JSON that tests/replay_gpu reads. Of each
/// list the first few hundred values are kept. A file that is there already is added to: a worker process that counts
/// has written its metrics before. Throws Error(kIo) where the file cannot be written.
std::shared_ptr<operators::gpu::Device> record_device(std::shared_ptr<operators::gpu::Device> device,
                                                      const std::filesystem::path& file);

} // namespace attnprof::profilers

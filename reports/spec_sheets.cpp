#include "reports/spec_sheets.hpp"

#include <algorithm>
#include <array>

namespace attnprof::reports {
namespace {

// The vendors' sheets were not at hand when the figures were checked; each source therefore names the document and the
// page that quotes it, or says what a figure was worked out from. Rates with sparsity are halved. Peaks of processors
// are cores x FLOP a cycle x base clock.

constexpr std::string_view kV100 = "NVIDIA Tesla V100 (SXM2), quoted by "
                                   "https://github.com/avensun/deep-learning-benchmark";
constexpr std::string_view kV100Memory = "NVIDIA Tesla V100 GPU Architecture white paper, quoted by "
                                         "https://gist.github.com/wolfram77/a42aeb021a2fec7b7e85ceb71b398772";
constexpr std::string_view kT4 =
    "NVIDIA Tesla T4 announcement, quoted by https://geektopia.es/es/technology/2018/09/13/noticias/"
    "nvidia-presenta-la-nueva-tesla-t4-basada-en-turing-orientada-a-inteligencia-artificial.html";
constexpr std::string_view kT4Memory = "Tesla T4, 256 bit of GDDR6 at 10 Gb/s, "
                                       "https://sysrqmts.com/en/gpus/nvidia/tesla/t4";
constexpr std::string_view kA100 =
    "NVIDIA A100 data sheet nvidia-a100-datasheet-us-nvidia-1758950-r4-web, A100 80GB SXM, dense, quoted by "
    "https://glennklockwood.com/garden/processors/A100";
constexpr std::string_view kA6000 = "RTX A6000, 10752 cores at 1.8 GHz and 384 bit of GDDR6 at 16 Gb/s, "
                                    "https://sysrqmts.com/es/gpus/compare/nvidia-rtx-a6000-vs-nvidia-tesla-p40";
constexpr std::string_view kA6000Tensor =
    "worked out: the A40 has the same GA102 with 84 multiprocessors, and its data sheet 149.7 TFLOPS of bf16 and 74.8 "
    "of "
    "tf32 dense to 37.4 of f32 (quoted by https://www.ecer.com/corp/details-uuuedqa-p1bsay9-multi-display-setups-"
    "supported-by-48gb-gddr6-ecc-memory-nvidia-a40-gpu-and-vga-outputs.html); times 38.7 / 37.4";
constexpr std::string_view kL4 = "NVIDIA L4, https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40";
constexpr std::string_view kL4Tensor = "NVIDIA L4 data sheet, half of 242 TFLOPS with sparsity, quoted by "
                                       "https://grokipedia.com/page/NVIDIA_L4_vs_L40S";
constexpr std::string_view kL4Tf32 = "NVIDIA L4 data sheet, half of 120 TFLOPS with sparsity, quoted by "
                                     "https://store.sourcecode.com/en-us/bg-bucket-compare/125/9820";
constexpr std::string_view kH100 = "NVIDIA H100 Tensor Core GPU Architecture white paper, H100 SXM5, dense, quoted by "
                                   "https://glennklockwood.com/garden/processors/h100";
constexpr std::string_view kH200 = "as of the H100 SXM, the same GH100: https://aiwiki.ai/wiki/nvidia_h200/raw; NVIDIA "
                                   "H100 Tensor Core GPU Architecture white paper, quoted by "
                                   "https://glennklockwood.com/garden/processors/h100";
constexpr std::string_view kH200Memory = "NVIDIA H200 data sheet, quoted by https://aiwiki.ai/wiki/nvidia_h200/raw";
constexpr std::string_view kB200 = "NVIDIA GB200 NVL72 and HGX B200 specifications, one GPU of HGX B200, quoted by "
                                   "https://zdszero.github.io/Computer/Artificial_Intelligence/Hardware.html";
constexpr std::string_view kB200Half =
    "NVIDIA GB200 NVL72 and HGX B200 specifications, one GPU of HGX B200, half of the rate with sparsity, quoted by "
    "https://zdszero.github.io/Computer/Artificial_Intelligence/Hardware.html";
constexpr std::string_view kMilan = "EPYC 7763: 64 cores at 2.45 GHz base, "
                                    "https://techgage.com/article/amd-epyc-milan-launch-performance/; two 256-bit "
                                    "multiply-adds a cycle, https://wlog.flatlib.jp/2024/01/13/ryzen-zen3-vfpbench/";
constexpr std::string_view kEpycMemory = "bandwidth of Milan and Genoa, "
                                         "https://www.tomshardware.fr/epyc-genoa-la-prise-en-charge-de-12-canaux-de-"
                                         "memoire-ddr5-confirmee/";
constexpr std::string_view kGenoa =
    "EPYC 9654: 96 cores at 2.4 GHz base, AVX-512 over a data path of 256 bit, "
    "https://www.hpctech.co.jp/product/amd-epyc-9004-series/; two multiply-adds a cycle "
    "as Zen 3, https://wlog.flatlib.jp/2024/01/13/ryzen-zen3-vfpbench/";
constexpr std::string_view kSapphire =
    "Xeon Platinum 8480+: 56 cores, "
    "https://servethehome.com/intel-xeon-max-9480-deep-dive-intel-has-64gb-hbm2e-onboard-"
    "like-a-gpu-or-ai-accelerator/3; 2.0 GHz base and two 512-bit multiply-adds a cycle, from memory, no page was "
    "found";
constexpr std::string_view kSapphireTensor =
    "56 cores as for f32, 2.0 GHz base from memory; 1024 bf16 operations a cycle, "
    "https://en.wikipedia.org/wiki/Advanced_Matrix_Extensions, quoted by "
    "https://artikel.siakadpt.com/en/Advanced_Matrix_Extensions";
constexpr std::string_view kSapphireMemory =
    "8 channels of DDR5, "
    "https://servethehome.com/intel-xeon-max-9480-deep-dive-intel-has-64gb-hbm2e-onboard-like-a-gpu-"
    "or-ai-accelerator/3, up to 4800 MT/s, https://wccftech.com/intel-xeon-sapphire-rapids-sp-cpus-feature-up-to-56-"
    "cores-on-350w-tdp/";

/// Figures of one sheet stand together.
constexpr SheetFigure kFigures[] = {
    {"fma f32", 19.5e12, kA100},
    {"tensor f16", 312e12, kA100},
    {"tensor bf16", 312e12, kA100},
    {"tensor tf32", 156e12, kA100},
    {"DRAM", 2.039e12, kA100},

    {"fma f32", 38.7e12, kA6000},
    {"tensor f16", 154.9e12, kA6000Tensor},
    {"tensor bf16", 154.9e12, kA6000Tensor},
    {"tensor tf32", 77.4e12, kA6000Tensor},
    {"DRAM", 768e9, kA6000},

    {"fma f32", 75e12, kB200},
    {"tensor f16", 2.25e15, kB200Half},
    {"tensor bf16", 2.25e15, kB200Half},
    {"tensor tf32", 1.1e15, kB200Half},
    {"DRAM", 7.7e12, kB200},

    {"fma f32", 64 * 32 * 2.45e9, kMilan},
    {"DRAM", 204.8e9, kEpycMemory},

    {"fma f32", 96 * 32 * 2.4e9, kGenoa},
    {"DRAM", 460.8e9, kEpycMemory},

    {"fma f32", 66.9e12, kH100},
    {"tensor f16", 989.4e12, kH100},
    {"tensor bf16", 989.4e12, kH100},
    {"tensor tf32", 494.7e12, kH100},
    {"DRAM", 3.35e12, kH100},

    {"fma f32", 66.9e12, kH200},
    {"tensor f16", 989.4e12, kH200},
    {"tensor bf16", 989.4e12, kH200},
    {"tensor tf32", 494.7e12, kH200},
    {"DRAM", 4.8e12, kH200Memory},

    {"fma f32", 30.3e12, kL4},
    {"tensor f16", 121e12, kL4Tensor},
    {"tensor bf16", 121e12, kL4Tensor},
    {"tensor tf32", 60e12, kL4Tf32},
    {"DRAM", 300e9, kL4},

    {"fma f32", 8.1e12, kT4},
    {"tensor f16", 65e12, kT4},
    {"DRAM", 320e9, kT4Memory},

    {"fma f32", 15.7e12, kV100},
    {"tensor f16", 125e12, kV100},
    {"DRAM", 900e9, kV100Memory},

    {"fma f32", 56 * 64 * 2.0e9, kSapphire},
    {"tensor bf16", 56 * 1024 * 2.0e9, kSapphireTensor},
    {"DRAM", 8 * 38.4e9, kSapphireMemory},
};

struct Head {
  std::string_view name, summary, device;
  std::size_t figures; ///< how many of kFigures, which follow in the same order
};
constexpr Head kHeads[] = {
    {"a100-sxm-80gb", "NVIDIA A100 SXM 80 GB", "NVIDIA A100-SXM4-80GB", 5},
    {"a6000", "NVIDIA RTX A6000", "NVIDIA RTX A6000", 5},
    {"b200-sxm", "NVIDIA B200 SXM, 180 GB", "NVIDIA B200", 5},
    {"epyc-7763", "AMD EPYC 7763, one socket", "", 2},
    {"epyc-9654", "AMD EPYC 9654, one socket", "", 2},
    {"h100-sxm", "NVIDIA H100 SXM", "NVIDIA H100 80GB HBM3", 5},
    {"h200-sxm", "NVIDIA H200 SXM", "NVIDIA H200", 5},
    {"l4", "NVIDIA L4", "NVIDIA L4", 5},
    {"t4", "NVIDIA T4", "Tesla T4", 3},
    {"v100-sxm2", "NVIDIA V100 SXM2", "Tesla V100-SXM2", 3},
    {"xeon-8480", "Intel Xeon Platinum 8480+, one socket", "", 3},
};

using Sheets = std::array<SpecSheet, std::size(kHeads)>;
constexpr Sheets kSheets = [] {
  Sheets out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Head& head = kHeads[i];
    out[i] = {head.name, head.summary, head.device, std::span(kFigures).subspan(next, head.figures)};
    next += head.figures;
  }
  return next == std::size(kFigures) ? out : throw "the heads do not cover the figures";
}();

} // namespace

std::span<const SpecSheet> spec_sheets() {
  return kSheets;
}

const SpecSheet* spec_sheet_of(std::string_view device_name) {
  const auto at = std::find_if(kSheets.begin(), kSheets.end(), [&](const SpecSheet& sheet) {
    const bool begins = !sheet.device.empty() && device_name.starts_with(sheet.device);
    // "Tesla V100-SXM2-32GB" has the sheet's figures; an "NVIDIA H200 NVL" and an "NVIDIA L40" have others.
    return begins && (device_name.size() == sheet.device.size() || device_name[sheet.device.size()] == '-');
  });
  return at == kSheets.end() ? nullptr : &*at;
}

} // namespace attnprof::reports

#include "reports/spec_sheets.hpp"

namespace attnprof::reports {
namespace {

// NVIDIA's sheets state tensor rates from the A100 on with and without sparsity, and from the H100 on with sparsity
// only; those are halved here. Peaks of processors are not on their sheets: cores times FLOP a cycle times base clock.

constexpr std::string_view kA100 = "NVIDIA A100 Tensor Core GPU data sheet (2021), A100 80GB SXM";
constexpr SheetFigure kA100Figures[] = {{"fma f32", 19.5e12, kA100},
                                        {"tensor f16", 312e12, kA100},
                                        {"tensor bf16", 312e12, kA100},
                                        {"DRAM", 2.039e12, kA100}};

constexpr std::string_view kA6000 = "NVIDIA RTX A6000 data sheet (2020)";
constexpr std::string_view kA6000Half = "NVIDIA RTX A6000 data sheet (2020), half of 309.7 TFLOPS with sparsity";
constexpr SheetFigure kA6000Figures[] = {{"fma f32", 38.7e12, kA6000},
                                         {"tensor f16", 154.85e12, kA6000Half},
                                         {"tensor bf16", 154.85e12, kA6000Half},
                                         {"DRAM", 768e9, kA6000}};

constexpr std::string_view kB200 = "NVIDIA HGX B200 data sheet (2024), an eighth of the eight-GPU board";
constexpr std::string_view kB200Half =
    "NVIDIA HGX B200 data sheet (2024), an eighth of the eight-GPU board, half of the rate with sparsity";
constexpr SheetFigure kB200Figures[] = {{"fma f32", 75e12, kB200},
                                        {"tensor f16", 2.25e15, kB200Half},
                                        {"tensor bf16", 2.25e15, kB200Half},
                                        {"DRAM", 8e12, "NVIDIA DGX B200 data sheet (2024), an eighth of 64 TB/s"}};

constexpr std::string_view kH100 = "NVIDIA H100 Tensor Core GPU data sheet (2023), H100 SXM";
constexpr std::string_view kH100Half =
    "NVIDIA H100 Tensor Core GPU data sheet (2023), H100 SXM, half of 1979 TFLOPS with sparsity";
constexpr SheetFigure kH100Figures[] = {{"fma f32", 67e12, kH100},
                                        {"tensor f16", 989.5e12, kH100Half},
                                        {"tensor bf16", 989.5e12, kH100Half},
                                        {"DRAM", 3.35e12, kH100}};

constexpr std::string_view kH200 = "NVIDIA H200 Tensor Core GPU data sheet (2023), H200 SXM";
constexpr std::string_view kH200Half =
    "NVIDIA H200 Tensor Core GPU data sheet (2023), H200 SXM, half of 1979 TFLOPS with sparsity";
constexpr SheetFigure kH200Figures[] = {{"fma f32", 67e12, kH200},
                                        {"tensor f16", 989.5e12, kH200Half},
                                        {"tensor bf16", 989.5e12, kH200Half},
                                        {"DRAM", 4.8e12, kH200}};

constexpr std::string_view kL4 = "NVIDIA L4 Tensor Core GPU data sheet (2023)";
constexpr std::string_view kL4Half = "NVIDIA L4 Tensor Core GPU data sheet (2023), half of 242 TFLOPS with sparsity";
constexpr SheetFigure kL4Figures[] = {
    {"fma f32", 30.3e12, kL4}, {"tensor f16", 121e12, kL4Half}, {"tensor bf16", 121e12, kL4Half}, {"DRAM", 300e9, kL4}};

constexpr std::string_view kT4 = "NVIDIA T4 Tensor Core GPU data sheet (2019)";
constexpr SheetFigure kT4Figures[] = {{"fma f32", 8.1e12, kT4}, {"tensor f16", 65e12, kT4}, {"DRAM", 320e9, kT4}};

constexpr std::string_view kV100 = "NVIDIA V100 Tensor Core GPU data sheet (2020), V100 SXM2";
constexpr SheetFigure kV100Figures[] = {
    {"fma f32", 15.7e12, kV100}, {"tensor f16", 125e12, kV100}, {"DRAM", 900e9, kV100}};

constexpr SheetFigure kMilanFigures[] = {
    {"fma f32", 64 * 32 * 2.45e9,
     "AMD EPYC 7003 data sheet: 64 cores at 2.45 GHz base; two AVX2 multiply-adds a cycle"},
    {"DRAM", 8 * 25.6e9, "AMD EPYC 7003 data sheet: 8 channels of DDR4-3200"}};
constexpr SheetFigure kGenoaFigures[] = {
    {"fma f32", 96 * 32 * 2.4e9,
     "AMD EPYC 9004 data sheet: 96 cores at 2.4 GHz base; 32 FLOP a cycle, AVX-512 in halves"},
    {"DRAM", 12 * 38.4e9, "AMD EPYC 9004 data sheet: 12 channels of DDR5-4800"}};
constexpr SheetFigure kSapphireFigures[] = {
    {"fma f32", 56 * 64 * 2.0e9,
     "Intel ark, Xeon Platinum 8480+: 56 cores at 2.0 GHz base; two AVX-512 multiply-adds a cycle"},
    {"tensor bf16", 56 * 2048 * 2.0e9,
     "Intel ark, Xeon Platinum 8480+: 56 cores at 2.0 GHz base; Intel's AMX guide: 1024 bf16 multiply-adds a cycle"},
    {"DRAM", 8 * 38.4e9, "Intel ark, Xeon Platinum 8480+: 8 channels of DDR5-4800"}};

constexpr SpecSheet kSheets[] = {
    {"a100-sxm-80gb", "NVIDIA A100 SXM 80 GB", kA100Figures},
    {"a6000", "NVIDIA RTX A6000", kA6000Figures},
    {"b200-sxm", "NVIDIA B200 SXM", kB200Figures},
    {"epyc-7763", "AMD EPYC 7763, one socket", kMilanFigures},
    {"epyc-9654", "AMD EPYC 9654, one socket", kGenoaFigures},
    {"h100-sxm", "NVIDIA H100 SXM", kH100Figures},
    {"h200-sxm", "NVIDIA H200 SXM", kH200Figures},
    {"l4", "NVIDIA L4", kL4Figures},
    {"t4", "NVIDIA T4", kT4Figures},
    {"v100-sxm2", "NVIDIA V100 SXM2", kV100Figures},
    {"xeon-8480", "Intel Xeon Platinum 8480+, one socket", kSapphireFigures},
};

} // namespace

std::span<const SpecSheet> spec_sheets() {
  return kSheets;
}

} // namespace attnprof::reports

#pragma once
#include "operators/kernels/cpu/args.hpp"

// The kernels of one instruction set. Each does share `share` of `shares`; phases are separated by a barrier of all
// shares.
namespace attnprof::operators::ATTNPROF_ISA {

void softmax(const cpu::RowsArgs& args, int share, int shares);
void layernorm(const cpu::RowsArgs& args, int share, int shares);
void pointwise(const cpu::RowsArgs& args, int share, int shares);
void rope(const cpu::RowsArgs& args, int share, int shares);
void copy_rows(const cpu::RowsArgs& args, int share, int shares);
void copy_transposed(const cpu::RowsArgs& args, int share, int shares);
void matmul(const cpu::MatMulArgs& args, int share, int shares);
void matvec(const cpu::MatMulArgs& args, int share, int shares);
void attention(const cpu::AttentionArgs& args, int share, int shares);
void attention_decode(const cpu::AttentionArgs& args, int phase, int share, int shares);
void depthwise(const cpu::DepthwiseArgs& args, int share, int shares);
void conv(const cpu::ConvArgs& args, int share, int shares);
void pool(const cpu::ConvArgs& args, int share, int shares);
void gather_rows(const cpu::RowsArgs& args, int share, int shares);
void reduce_rows(const cpu::RowsArgs& args, int share, int shares);
void cumsum_rows(const cpu::RowsArgs& args, int share, int shares);
void channel_conv1d(const cpu::RowsArgs& args, int share, int shares);
void map_exp(const float* x, float* y, std::int64_t n);
void map_exp_nonpositive(const float* x, float* y, std::int64_t n);
void map_exp2_nonpositive(const float* x, float* y, std::int64_t n);
void map_erf(const float* x, float* y, std::int64_t n);
void map_sigmoid(const float* x, float* y, std::int64_t n);
void map_tanh(const float* x, float* y, std::int64_t n);
void map_silu(const float* x, float* y, std::int64_t n);
void map_gelu(const float* x, float* y, std::int64_t n);

} // namespace attnprof::operators::ATTNPROF_ISA

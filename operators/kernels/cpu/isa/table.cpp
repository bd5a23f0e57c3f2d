#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/vec.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"

#define ATTNPROF_TEXT_OF(x) #x
#define ATTNPROF_NAME_OF(x) ATTNPROF_TEXT_OF(x)

#ifdef ATTNPROF_EMULATE_AVX512
#define ATTNPROF_TABLE_NAME ATTNPROF_NAME_OF(ATTNPROF_ISA) "-emulated"
#define ATTNPROF_TABLE_EMULATED true
#else
#define ATTNPROF_TABLE_NAME ATTNPROF_NAME_OF(ATTNPROF_ISA)
#define ATTNPROF_TABLE_EMULATED false
#endif

namespace attnprof::operators::ATTNPROF_ISA {

const cpu::KernelTable& kernel_table() {
  static constexpr cpu::KernelTable kTable{ATTNPROF_TABLE_NAME,
                                           ATTNPROF_TABLE_EMULATED,
                                           kLanes,
                                           kTileRows,
                                           kTileColumns,
                                           softmax,
                                           layernorm,
                                           pointwise,
                                           rope,
                                           copy_rows,
                                           copy_transposed,
                                           matmul,
                                           matvec,
                                           attention,
                                           attention_decode,
                                           depthwise,
                                           conv,
                                           pool,
                                           gather_rows,
                                           reduce_rows,
                                           cumsum_rows,
                                           channel_conv1d,
                                           map_exp,
                                           map_exp_nonpositive,
                                           map_exp2_nonpositive,
                                           map_erf,
                                           map_sigmoid,
                                           map_tanh,
                                           map_silu,
                                           map_gelu};
  return kTable;
}

} // namespace attnprof::operators::ATTNPROF_ISA

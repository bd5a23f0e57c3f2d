# attnprof_add_isa_sources(TARGET FILE...): compiles the files once per instruction set, each time in a namespace of its
# own (ATTNPROF_ISA), so that one binary runs on every machine and picks the widest set at start.
# -march=native is never used: it is not portable, and g++ 12 then tunes AVX-512 machines down to 256-bit vectors.
set(ATTNPROF_ISA_NAMES baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND ATTNPROF_ISA_NAMES avx2 avx512)
endif()
set(ATTNPROF_ISA_FLAGS_baseline "")
set(ATTNPROF_ISA_FLAGS_avx2 -march=x86-64-v3 -mtune=generic)
set(ATTNPROF_ISA_FLAGS_avx512 -march=x86-64-v4 -mtune=generic -mprefer-vector-width=512)

# The code for AVX-512 (16 lanes, register tiles of 14 rows) on a processor that lacks it: its few named instructions are
# made of AVX2 ones (isa/emulated_avx512.hpp). All tests then run on it, and nothing that such a build measures means much.
option(ATTNPROF_EMULATE_AVX512 "Emulate AVX-512 in the CPU kernels, for tests" OFF)
if(ATTNPROF_EMULATE_AVX512)
  set(ATTNPROF_ISA_FLAGS_avx512 -march=x86-64-v3 -mtune=generic -Wno-psabi -DATTNPROF_EMULATE_AVX512=1)
endif()

function(attnprof_add_isa_sources target)
  foreach(isa ${ATTNPROF_ISA_NAMES})
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_link_libraries(${target}_${isa} PRIVATE attnprof_options OpenMP::OpenMP_CXX)
    # -O3 in every configuration: an unoptimised kernel measures itself, and the development build checks warnings. The
    # sanitizers' checks take g++ three times as long to optimise so far, and nobody measures there.
    target_compile_options(${target}_${isa} PRIVATE ${ATTNPROF_ISA_FLAGS_${isa}} $<IF:$<OR:$<BOOL:${ATTNPROF_SANITIZE}>,$<AND:$<BOOL:${ATTNPROF_EMULATE_AVX512}>,$<STREQUAL:${isa},avx512>>>,-O1,-O3>
                                                    -fno-math-errno -fno-trapping-math)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # g++ 12 warns inside its own AVX-512 headers (GCC bug 105593); for the other sets the same sources are checked.
      target_compile_options(${target}_${isa} PRIVATE -Wno-maybe-uninitialized)
      if(isa STREQUAL "avx512")
        target_compile_options(${target}_${isa} PRIVATE -Wno-uninitialized)
      endif()
    endif()
    target_compile_definitions(${target}_${isa} PRIVATE ATTNPROF_ISA=${isa})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
  list(JOIN ATTNPROF_ISA_NAMES "," names)
  if("avx512" IN_LIST ATTNPROF_ISA_NAMES)
    target_compile_definitions(${target} PRIVATE ATTNPROF_HAS_X86_ISAS=1)
  endif()
endfunction()

# The CUDA plugin. attnprof itself is built without CUDA everywhere and loads the plugin when a GPU is asked for.
# CMake's CUDA language is not enabled: its compiler checks take 17 s of configuring, and a few files need nvcc.
set(ATTNPROF_CUDA AUTO CACHE STRING "Build the CUDA plugin: AUTO (where CUDA 13 is found), ON, OFF")
set_property(CACHE ATTNPROF_CUDA PROPERTY STRINGS AUTO ON OFF)
# For the GPUs of this machine where it has some; each further architecture costs as much time as the first.
set(ATTNPROF_HAS_GPU OFF)
set(architectures "80;90;100;120")
find_program(ATTNPROF_NVIDIA_SMI nvidia-smi)
if(ATTNPROF_NVIDIA_SMI)
  execute_process(COMMAND "${ATTNPROF_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
  if(capabilities)
    list(REMOVE_DUPLICATES capabilities)
    string(REPLACE "." "" architectures "${capabilities}")
    set(ATTNPROF_HAS_GPU ON)
  endif()
endif()
if(ATTNPROF_DEVELOPMENT AND NOT ATTNPROF_HAS_GPU)
  set(architectures 90)
endif()
set(ATTNPROF_CUDA_ARCHITECTURES "${architectures}" CACHE STRING
    "Compute capabilities of the plugin's kernels; the last one is also kept as PTX for newer devices")
set(ATTNPROF_CUDA_FLAGS "" CACHE STRING
    "Further flags of nvcc, such as --resource-usage: registers, spills and shared memory of each kernel")
if(NOT ATTNPROF_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "ATTNPROF_CUDA is '${ATTNPROF_CUDA}': choose AUTO, ON or OFF")
endif()

set(ATTNPROF_WITH_CUDA OFF)
set(ATTNPROF_CUDA_API_VERSION 0)
if(NOT ATTNPROF_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  # CUPTI loads this library by its bare name, so it finds it only where it is loaded already.
  find_library(ATTNPROF_NVPERF_HOST nvperf_host
               HINTS "${CUDAToolkit_LIBRARY_DIR}" "${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/lib64")
  set(missing "")
  if(NOT CUDAToolkit_NVCC_EXECUTABLE OR NOT EXISTS "${CUDAToolkit_NVCC_EXECUTABLE}")
    set(missing "nvcc is not on the PATH")
  elseif(CUDAToolkit_VERSION VERSION_LESS 13.0)
    set(missing "CUDA ${CUDAToolkit_VERSION} is older than 13.0")
  elseif(NOT TARGET CUDA::cublasLt OR NOT TARGET CUDA::cudart_static)
    set(missing "the toolkit has no cublasLt or cudart_static")
  elseif(NOT TARGET CUDA::cupti OR NOT ATTNPROF_NVPERF_HOST)
    set(missing "the toolkit has no CUPTI, or no nvperf_host")
  endif()
  if(NOT missing)
    set(ATTNPROF_WITH_CUDA ON)
    math(EXPR ATTNPROF_CUDA_API_VERSION "${CUDAToolkit_VERSION_MAJOR} * 1000 + ${CUDAToolkit_VERSION_MINOR} * 10")
  elseif(ATTNPROF_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ATTNPROF_CUDA is ON, but ${missing}: install CUDA 13 with CUPTI, name its nvcc with "
                        "-DCUDAToolkit_ROOT=FOLDER, or choose AUTO")
  else()
    message(STATUS "CUDA plugin: not built (${missing})")
  endif()
endif()

# What the program and the plugin must agree on: a plugin of another interface would read wrong memory.
set(seam "")
foreach(file kernels/gpu/device.hpp kernels/gpu/args.hpp core/functions.hpp core/dtype.hpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/operators/${file}")
  file(SHA256 "${CMAKE_SOURCE_DIR}/operators/${file}" hash)
  string(APPEND seam "${hash}")
endforeach()
string(SHA256 seam "${seam}")
string(SUBSTRING "${seam}" 0 16 ATTNPROF_GPU_SEAM)

# attnprof_compile_cuda(OUT FILE...): compiles the .cu files with nvcc and puts their objects into the list OUT.
function(attnprof_compile_cuda out)
  set(architectures "")
  foreach(capability ${ATTNPROF_CUDA_ARCHITECTURES})
    list(APPEND architectures "-gencode=arch=compute_${capability},code=sm_${capability}")
    set(last ${capability})
  endforeach()
  set(uncompressed "")
  if(ATTNPROF_DEVELOPMENT)
    set(uncompressed --compress-mode=none) # scripts/gpu-sass, and with it a test, reads the objects
  else()
    list(APPEND architectures "-gencode=arch=compute_${last},code=compute_${last}")
  endif()
  set(objects "")
  foreach(file ${ARGN})
    get_filename_component(name "${file}" NAME_WE)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.cu.o")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${CUDAToolkit_NVCC_EXECUTABLE}" -ccbin "${CMAKE_CXX_COMPILER}" -std=c++20
              -O3 ${uncompressed} ${ATTNPROF_CUDA_FLAGS} --expt-relaxed-constexpr -Xcompiler=-fPIC,-fvisibility=hidden ${architectures} -I "${CMAKE_SOURCE_DIR}"
              -MD -MT "${object}" -MF "${object}.d" -c "${file}" -o "${object}"
      DEPENDS "${file}" DEPFILE "${object}.d" COMMENT "Compiling ${name}.cu for ${ATTNPROF_CUDA_ARCHITECTURES}" VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(${out} "${objects}" PARENT_SCOPE)
endfunction()

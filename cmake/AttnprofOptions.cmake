# attnprof_options: what every target of this project compiles and links with.
add_library(attnprof_options INTERFACE)
target_include_directories(attnprof_options INTERFACE "${CMAKE_SOURCE_DIR}")
if(ATTNPROF_DEVELOPMENT)
  target_compile_options(attnprof_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
endif()
if(ATTNPROF_SANITIZE)
  target_compile_options(attnprof_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                    -fno-omit-frame-pointer)
  target_link_options(attnprof_options INTERFACE -fsanitize=address,undefined)
endif()

# Half of a build's time goes into headers and into templates that every source instantiates again. So large headers of
# the libraries are parsed once per target, and several sources are compiled at a time, which takes a third of the time.
# Names that are local to a file must then differ from those of its neighbours.
option(ATTNPROF_UNITY "Compile several sources at a time; OFF is faster after small changes" ON)
set(ATTNPROF_PRECOMPILED <algorithm> <filesystem> <functional> <map> <optional> <string> <variant> <vector>
                         <fmt/format.h> <nlohmann/json.hpp>)
# attnprof_compile_together(TARGET): sources with flags or definitions of their own stay alone.
function(attnprof_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTNPROF_UNITY} UNITY_BUILD_BATCH_SIZE 10)
endfunction()

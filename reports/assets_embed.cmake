# cmake -DFOLDER=reports/assets "-DSCRIPTS=a.js;b.js" -DPLOTLY=plotly.min.js -DOUT=report_assets.cpp -P assets_embed.cmake
# Raw string literals hold the files byte by byte; their delimiter occurs in none of them.
function(read_asset path out)
  file(READ "${path}" text)
  if(text MATCHES "\\)attnprof\"" OR text MATCHES "</script")
    message(FATAL_ERROR "${path} holds the end of a raw string literal or of a script element")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

file(READ "${FOLDER}/report.html" html)
read_asset("${FOLDER}/report.css" css)
set(parts "// Generated from reports/assets. Do not edit.\n#include \"reports/assets.hpp\"\n\nnamespace attnprof::reports {\n\n")
string(APPEND parts "std::string_view report_template() { return R\"attnprof(${html})attnprof\"; }\n")
string(APPEND parts "std::string_view report_style() { return R\"attnprof(${css})attnprof\"; }\n")
set(scripts "")
foreach(name ${SCRIPTS})
  read_asset("${FOLDER}/${name}" text)
  string(APPEND scripts "\n    R\"attnprof(${text})attnprof\"")
endforeach()
string(APPEND parts "std::string_view report_script() {\n  return${scripts};\n}\n")
file(WRITE "${OUT}" "${parts}")

# plotly's file holds brackets and semicolons, which a CMake list would take apart: it is copied as one text.
set(text "")
if(NOT PLOTLY STREQUAL "")
  read_asset("${PLOTLY}" text)
endif()
file(APPEND "${OUT}" "std::string_view plotly_script() { return R\"attnprof(${text})attnprof\"; }\n\n} // namespace attnprof::reports\n")

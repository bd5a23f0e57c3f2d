# attnprof_embed_report_assets(TARGET FOLDER PLOTLY): compiles the files of FOLDER, and plotly's script unless PLOTLY is
# "", into TARGET as the functions of reports/assets.hpp, again whenever one of them changes.
set(ATTNPROF_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/assets_embed.cmake")
# In the order in which the page runs them.
set(ATTNPROF_REPORT_SCRIPTS elements.js marks.js drawing.js svg_charts.js plotly_charts.js tables.js report.js roofline.js
                            work.js layouts.js phases.js bytes.js stability.js history.js cases.js page.js)
function(attnprof_embed_report_assets target folder plotly)
  set(out "${CMAKE_CURRENT_BINARY_DIR}/report_assets.cpp")
  list(TRANSFORM ATTNPROF_REPORT_SCRIPTS PREPEND "${folder}/" OUTPUT_VARIABLE scripts)
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DSCRIPTS=${ATTNPROF_REPORT_SCRIPTS}" "-DPLOTLY=${plotly}"
            "-DOUT=${out}" -P "${ATTNPROF_EMBED_SCRIPT}"
    DEPENDS "${folder}/report.html" "${folder}/report.css" ${scripts} ${plotly} "${ATTNPROF_EMBED_SCRIPT}"
    COMMENT "Embedding the report page" VERBATIM)
  target_sources(${target} PRIVATE "${out}")
  set_source_files_properties("${out}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# attnprof_generate_registry(OUT NAME FOLDER...): writes OUT, a source file that lists the descriptor of every *.cpp in
# operators/FOLDER. A file variants/foo.cpp must define `VariantDescriptor describe_variant_foo()` in attnprof::operators;
# nothing else is edited when a variant, layout or model is added.
function(attnprof_generate_registry out)
  set(declarations "")
  set(lists "")
  foreach(entry "variants:VariantDescriptor" "layouts:LayoutDescriptor" "models:ModelDescriptor")
    string(REPLACE ":" ";" parts "${entry}")
    list(GET parts 0 folder)
    list(GET parts 1 type)
    file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
    list(SORT files)
    set(calls "")
    string(REGEX REPLACE "s$" "" kind "${folder}")
    foreach(file ${files})
      get_filename_component(name "${file}" NAME_WE)
      string(APPEND declarations "${type} describe_${kind}_${name}();\n")
      string(APPEND calls "      describe_${kind}_${name}(),\n")
    endforeach()
    string(APPEND lists "std::vector<${type}> registered_${folder}() {\n  return {\n${calls}  };\n}\n")
  endforeach()
  file(CONFIGURE OUTPUT "${out}" @ONLY CONTENT
"// Generated from the files in operators/variants, layouts and models. Do not edit.
#include \"operators/core/registry.hpp\"
namespace attnprof::operators {
@declarations@
@lists@} // namespace attnprof::operators
")
endfunction()

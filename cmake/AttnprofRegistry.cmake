# attnprof_generate_registry(OUT): writes OUT, a source file that lists the descriptor of every *.cpp in operators/variants,
# layouts and models. A file variants/foo.cpp must define `VariantDescriptor describe_variant_foo()` in
# attnprof::operators, layouts/foo.cpp `LayoutDescriptor describe_layout_foo()`, and models/foo.cpp, which holds a whole
# family, `std::vector<ModelDescriptor> describe_models_foo()`. Nothing else is edited when one is added.
function(attnprof_generate_registry out)
  set(declarations "")
  set(lists "")
  foreach(entry "variants:VariantDescriptor" "layouts:LayoutDescriptor")
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
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/models/*.cpp")
  list(SORT files)
  set(families "")
  foreach(file ${files})
    get_filename_component(name "${file}" NAME_WE)
    string(APPEND declarations "std::vector<ModelDescriptor> describe_models_${name}();\n")
    string(APPEND families "           describe_models_${name}(),\n")
  endforeach()
  file(CONFIGURE OUTPUT "${out}" @ONLY CONTENT
"// Generated from the files in operators/variants, layouts and models. Do not edit.
#include \"operators/core/registry.hpp\"
namespace attnprof::operators {
@declarations@
@lists@std::vector<ModelDescriptor> registered_models() {
  std::vector<ModelDescriptor> out;
  for (const std::vector<ModelDescriptor>& family : std::vector<std::vector<ModelDescriptor>>{
@families@       }) {
    out.insert(out.end(), family.begin(), family.end());
  }
  return out;
}
} // namespace attnprof::operators
")
endfunction()

# attnprof_generate_decoder_presets(OUT): writes OUT, a source file that holds the texts of operators/decoder/presets/*.json
# under their names. A new language model is one such file.
function(attnprof_generate_decoder_presets out)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/decoder/presets/*.json")
  list(SORT files)
  set(entries "")
  foreach(file ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(name "${file}" NAME_WLE)
    file(READ "${file}" text)
    string(APPEND entries "    {\"${name}\", R\"json(${text})json\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${out}" @ONLY CONTENT
"// Generated from operators/decoder/presets. Do not edit.
#include <span>
#include <string_view>
namespace attnprof::operators {
struct PresetText {
  std::string_view name, json;
};
std::span<const PresetText> preset_texts();
std::span<const PresetText> preset_texts() {
  static constexpr PresetText kTexts[] = {
@entries@  };
  return kTexts;
}
} // namespace attnprof::operators
")
endfunction()

# In: LIST, a file with one preset file per line. Out: OUTPUT, a C++ source that
# defines decant::presetFiles() and decant::embeddedRecords(). Bytes, not string
# literals: no limit on length and no character that needs escaping.
file(STRINGS ${LIST} paths)
# By name: "a.json" comes after "a-b.json" in the order of whole paths.
set(files "")
foreach(path IN LISTS paths)
  get_filename_component(name ${path} NAME_WLE)
  list(APPEND files "${name}!${path}")
endforeach()
list(SORT files)
set(kind_rules Rule)
set(kind_methods Method)
set(kind_models Model)

set(arrays "")
set(rows "")
set(record_rows "")
set(count 0)
foreach(folder rules methods models records)
  foreach(file IN LISTS files)
    string(REGEX REPLACE "^[^!]*!" "" file "${file}")
    get_filename_component(name ${file} NAME_WLE)
    get_filename_component(parent ${file} DIRECTORY)
    get_filename_component(parent ${parent} NAME)
    if(NOT parent STREQUAL folder)
      continue()
    endif()
    file(READ ${file} hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    # Lines of 20 bytes keep the generated file readable by editors.
    string(REGEX REPLACE "((0x..,)(0x..,)?(0x..,)?(0x..,)?(0x..,)?)" "\\1\n" bytes "${bytes}")
    string(APPEND arrays "const unsigned char kBytes${count}[] = {\n${bytes}0};\n")
    if(folder STREQUAL records)
      string(APPEND record_rows "      {\"${name}\", view(kBytes${count}, ${size})},\n")
    else()
      string(APPEND rows "      {PresetKind::${kind_${folder}}, \"${name}\", view(kBytes${count}, ${size})},\n")
    endif()
    math(EXPR count "${count} + 1")
  endforeach()
endforeach()

file(WRITE ${OUTPUT} "// Generated from presets/ by EmbedPresets.cmake.
#include \"decant/Spec/Presets.h\"

namespace decant {
namespace {
${arrays}
std::string_view view(const unsigned char *bytes, size_t size) {
  return {reinterpret_cast<const char *>(bytes), size};
}
} // namespace

std::vector<PresetFile> presetFiles() {
  return {
${rows}  };
}

std::vector<EmbeddedFile> embeddedRecords() {
  return {
${record_rows}  };
}
} // namespace decant
")

# Finds LLVM/MLIR 22 and says once how Decant's targets meet it:
#   decant_mlir                  the one target that a compiler library links with
#   decant_pch(target)           applies the precompiled header
#   decant_link_static(target)   this program or library carries LLVM inside itself
#   decant_hide_symbols(target)  this shared library exports decant* C symbols alone

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR) # mlir_tablegen. Not HandleLLVMOptions: it turns exceptions off.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(_decant_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${_decant_llvm_definitions})

# An installed program finds Decant's libraries beside itself and LLVM's at home.
list(APPEND CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN")
if(NOT DECANT_STATIC)
  list(APPEND CMAKE_INSTALL_RPATH ${LLVM_LIBRARY_DIR})
endif()

# Whether LLVM comes from archives is a property of the program or library that is
# linked, not of the objects: one build can hold both kinds.
define_property(TARGET PROPERTY DECANT_STATIC INITIALIZE_FROM_VARIABLE DECANT_STATIC
  BRIEF_DOCS "Link LLVM and MLIR from archives")

# Every archive is offered and the linker takes the members it needs: a list of
# components would have to follow each include. With lld, one shared library in
# this list would silently link both kinds.
file(GLOB _decant_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
# What those members need in turn, as archives too: a machine that runs Decant
# need not have them. z3, libxml2, libedit, libffi and curl stay out, since the
# members that use them (SMT solver, manifests, line editor, ...) are not taken.
foreach(_name z zstd)
  find_library(DECANT_${_name}_ARCHIVE lib${_name}.a)
  list(APPEND _decant_system_archives ${DECANT_${_name}_ARCHIVE})
endforeach()

add_library(decant_mlir INTERFACE)
set(_static $<BOOL:$<TARGET_PROPERTY:DECANT_STATIC>>)
target_link_libraries(decant_mlir INTERFACE
  $<${_static}:-Wl,--start-group>
  "$<${_static}:${_decant_archives}>"
  $<${_static}:-Wl,--end-group>
  "$<${_static}:${_decant_system_archives}>"
  "$<$<NOT:${_static}>:MLIR;LLVM>"
  ${CMAKE_DL_LIBS})

# A program needs glibc alone afterwards; a library still shares the host's
# libstdc++, since two of them in one process do not share locales and streams.
function(decant_link_static target)
  # Nothing is left to be found by a path; the padding that CMake would leave in the
  # build's own copy (colons) makes ld.so search the working directory.
  set_target_properties(${target} PROPERTIES DECANT_STATIC ON
    INSTALL_RPATH "" BUILD_WITH_INSTALL_RPATH ON)
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,-O2 $<$<NOT:$<CONFIG:Debug>>:-s>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# Host engines bring an LLVM of their own (Triton, Mesa). Nothing of ours may be
# found by theirs (version script), nor ours be bound to theirs (-Bsymbolic). It is
# also what lets the archives of zlib and zstd, which are not all PIC, into a library.
function(decant_hide_symbols target)
  set(script ${PROJECT_SOURCE_DIR}/cmake/decant.exports)
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${script} -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,defs)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

set(DECANT_PCH_HOST "" CACHE INTERNAL "the target that compiles the precompiled header")
function(decant_pch target)
  if(NOT DECANT_PCH)
    return()
  endif()
  # clang refuses a header compiled with -fPIC in a source compiled with -fPIE, and
  # CMake would give libraries the one and programs the other.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  # Dates in the header would make two builds of the same sources differ (ccache).
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(DECANT_PCH_HOST)
    target_precompile_headers(${target} REUSE_FROM ${DECANT_PCH_HOST})
  else()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/lib/Compiler/Precompiled.h)
    set(DECANT_PCH_HOST ${target} CACHE INTERNAL "")
  endif()
endfunction()

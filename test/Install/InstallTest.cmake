# See CMakeLists.txt; every step that fails ends the test.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE _result
    OUTPUT_VARIABLE _output ERROR_VARIABLE _output)
  if(NOT _result EQUAL 0)
    string(REPLACE ";" " " _command "${ARGV}")
    message(FATAL_ERROR "${_command}\nended with ${_result}\n${_output}")
  endif()
  set(OUTPUT "${_output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
# An install must not know where it was put.
file(RENAME ${WORK}/first ${WORK}/moved)
set(_prefix ${WORK}/moved)

run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_PREFIX_PATH=${_prefix}
  -DUSE_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/use_decant)
if(NOT OUTPUT MATCHES "decant runtime 100: .*none.decant: cannot open")
  message(FATAL_ERROR "use_decant printed: ${OUTPUT}")
endif()

# What one program compiles, another loads that has the runtime alone.
if(COMPILER)
  run(${WORK}/build/compile_preset ${WORK}/gdn.decant)
  if(NOT OUTPUT MATCHES "LLVM 22.*: ptx of bytelm-gdn for sm_90a")
    message(FATAL_ERROR "compile_preset printed: ${OUTPUT}")
  endif()
  run(${WORK}/build/use_decant ${WORK}/gdn.decant)
  if(NOT OUTPUT MATCHES "decant runtime 100: ok: bytelm-gdn")
    message(FATAL_ERROR "use_decant printed: ${OUTPUT}")
  endif()

  # The tool needs glibc alone, and no variable that says where it is.
  run(env -i ${_prefix}/bin/decant compile bytelm-gdn
    --set name=moved --emit image -o ${WORK}/moved.decant)
  run(${WORK}/build/use_decant ${WORK}/moved.decant)
  if(NOT OUTPUT MATCHES "ok: moved")
    message(FATAL_ERROR "use_decant printed: ${OUTPUT}")
  endif()
  run(readelf -d ${_prefix}/bin/decant ${_prefix}/${LIBDIR}/libdecant.so)
  if(OUTPUT MATCHES "PATH|LLVM|MLIR")
    message(FATAL_ERROR "the tool or libdecant looks for libraries: ${OUTPUT}")
  endif()
  # The example is built as a user would, but faster.
  run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/bytelm -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${_prefix}
    -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DBYTELM_NATIVE=OFF)
  run(${CMAKE_COMMAND} --build ${WORK}/bytelm)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/bytelm --output-on-failure
    --no-tests=error)

  # decant-opt is MLIR's and finds MLIR's libraries at home.
  run(${_prefix}/bin/decant-opt --version)
  file(GLOB _presets ${_prefix}/share/decant/presets/models/*.json
    ${_prefix}/share/decant/presets/schema.json)
  list(LENGTH _presets _count)
  if(_count LESS 3)
    message(FATAL_ERROR "presets are missing: ${_presets}")
  endif()
endif()

# The tuner of packs is for machines with glibc and a driver.
run(env -i ${_prefix}/bin/decant-pack-tune --help)
run(readelf -d ${_prefix}/bin/decant-pack-tune)
if(OUTPUT MATCHES "PATH|stdc|LLVM")
  message(FATAL_ERROR "decant-pack-tune looks for libraries: ${OUTPUT}")
endif()

find_program(_pkg_config pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${_prefix}/${LIBDIR}/pkgconfig)
set(ENV{LD_LIBRARY_PATH} ${_prefix}/${LIBDIR})
function(build_by_pkg_config package source)
  run(${_pkg_config} --cflags --libs ${package})
  separate_arguments(_flags UNIX_COMMAND "${OUTPUT}")
  run(${CC} ${PROJECT}/${source} -o ${WORK}/by_pkg_config ${_flags})
endfunction()
build_by_pkg_config(decant-runtime main.c)
run(${WORK}/by_pkg_config)
if(COMPILER)
  build_by_pkg_config(decant compile_preset.c)
  run(${WORK}/by_pkg_config ${WORK}/again.decant)
  run(${CMAKE_COMMAND} -E compare_files ${WORK}/gdn.decant ${WORK}/again.decant)
endif()

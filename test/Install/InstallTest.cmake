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
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_PREFIX_PATH=${_prefix})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/use_decant)
if(NOT OUTPUT MATCHES "decant runtime 100: .*none.decant: cannot open")
  message(FATAL_ERROR "use_decant printed: ${OUTPUT}")
endif()

find_program(_pkg_config pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${_prefix}/${LIBDIR}/pkgconfig)
run(${_pkg_config} --cflags --libs decant-runtime)
separate_arguments(_flags UNIX_COMMAND "${OUTPUT}")
run(${CC} ${PROJECT}/main.c -o ${WORK}/by_pkg_config ${_flags})
set(ENV{LD_LIBRARY_PATH} ${_prefix}/${LIBDIR})
run(${WORK}/by_pkg_config)

# cmake -DLIBRARY=... -DNM=... -DREADELF=... -P CheckSymbols.cmake
# The runtime library shows decant* alone, takes nothing of LLVM's, and needs no
# library that a Linux machine with a C++ program lacks.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
  OUTPUT_VARIABLE _defined COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" _names "${_defined}")
list(LENGTH _names _count)
if(_count LESS 20)
  message(FATAL_ERROR "${LIBRARY} shows only ${_count} symbols:\n${_defined}")
endif()
foreach(_name ${_names})
  if(NOT _name MATCHES "^decant[A-Z]")
    message(FATAL_ERROR "${LIBRARY} shows ${_name}")
  endif()
endforeach()

execute_process(COMMAND ${NM} -D ${LIBRARY}
  OUTPUT_VARIABLE _all COMMAND_ERROR_IS_FATAL ANY)
string(TOLOWER "${_all}" _all)
if(_all MATCHES "llvm|mlir")
  message(FATAL_ERROR "${LIBRARY} has a symbol of LLVM's or MLIR's")
endif()

execute_process(COMMAND ${READELF} -d ${LIBRARY}
  OUTPUT_VARIABLE _dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*\\[[^]]*\\]" _needed "${_dynamic}")
foreach(_line ${_needed})
  if(NOT _line MATCHES "\\[(libstdc\\+\\+|libm|libgcc_s|libc|libdl|libpthread|ld-linux[^.]*)\\.so")
    message(FATAL_ERROR "${LIBRARY} needs ${_line}")
  endif()
endforeach()

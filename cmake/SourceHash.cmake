# Writes OUTPUT, a header with DECANT_SOURCE_HASH: a hash of the names and the
# contents of the files that LIST names, one a line, all below ROOT. It depends
# on nothing else, so equal sources in other folders hash alike.
#   cmake -DROOT=... -DLIST=... -DOUTPUT=... -P SourceHash.cmake
file(STRINGS ${LIST} _files)
set(_all "")
foreach(_file IN LISTS _files)
  file(SHA256 ${_file} _hash)
  file(RELATIVE_PATH _name ${ROOT} ${_file})
  string(APPEND _all "${_name} ${_hash}\n")
endforeach()
string(SHA256 _hash "${_all}")
string(SUBSTRING ${_hash} 0 12 _hash)
# Only when it changed, so that nothing is compiled again for a touched file.
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define DECANT_SOURCE_HASH \"${_hash}\"\n")

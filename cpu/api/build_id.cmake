# SPDX-License-Identifier: MIT
# Writes OUT with KILN_BUILD_ID: the version and a hash over the sources of
# the CPU driver and its compiler under ROOT. Touches OUT only on a change.
set(text "")
foreach(folder src/base src/image src/walk src/cache cpu/ptx cpu/jit
    cpu/object cpu/exec cpu/api)
  file(GLOB files LIST_DIRECTORIES false ${ROOT}/${folder}/*.[ch]
    ${ROOT}/${folder}/*.def ${ROOT}/${folder}/CMakeLists.txt)
  list(SORT files)
  foreach(f ${files})
    file(SHA256 ${f} h)
    string(APPEND text "${h}\n")
  endforeach()
endforeach()
string(SHA256 h "${text}${FLAGS}")
string(SUBSTRING ${h} 0 16 h)
set(new "#define KILN_BUILD_ID \"kiln ${VERSION} ${h}\"\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL new)
  file(WRITE ${OUT} "${new}")
endif()

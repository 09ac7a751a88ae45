# SPDX-License-Identifier: Apache-2.0
# Makes one page of what lies here: the style and the modules go into page.html, in this order. Imports between modules and the word
# "export" go away, so names are one family. Usage: cmake -DOUTPUT=page.html -P web/join.cmake; src/cli includes it.
function(plat_join_page folder result)
  set(script "")
  foreach(module words trace series ground colours axis canvas picture blocks lanes flame places details findings owners difference app)
    file(READ ${folder}/${module}.js text)
    string(REGEX REPLACE "\nimport [^\n]*" "" text "${text}")
    string(REGEX REPLACE "\nexport " "\n" text "${text}")
    string(APPEND script "${text}\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${module}.js)
  endforeach()
  file(READ ${folder}/page.html page)
  file(READ ${folder}/style.css style)
  string(REPLACE "/*STYLE*/" "${style}" page "${page}")
  string(REPLACE "/*SCRIPT*/" "${script}" page "${page}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/page.html ${folder}/style.css)
  set(${result} "${page}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND OUTPUT)
  plat_join_page(${CMAKE_CURRENT_LIST_DIR} page)
  file(WRITE ${OUTPUT} "${page}")
endif()

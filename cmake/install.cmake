# SPDX-License-Identifier: Apache-2.0
# The install tree, laid out as Ascend users know it:
#
#   include/{acl,mstx,plat}   lib64/*.so   bin/plat   python/site-packages   set_env.sh   version.info
#   lib64/cmake/Plat   share/cmake/Plat   lib64/pkgconfig   share/{man,doc,bash-completion,zsh}
#   runtime   acllib   x86_64-linux   latest   lib64/stub    links, for builds that look there
#
# Nothing in it holds an absolute path, so it can be moved.
include(CMakePackageConfigHelpers)

# Libraries of a toolkit live in lib64 on every distribution: loaders cut their own path at that name.
set(PLAT_LIBDIR lib64)

# plat_install_library(target name): a shared library that clients link as Plat::<name>. One that bears a vendor's name keeps exactly that
# name, because programs that were linked here ask for it on other machines; our own carry a version.
function(plat_install_library target name)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "" EXPORT_NAME ${name})
  get_target_property(file ${target} OUTPUT_NAME)
  if(file MATCHES "^plat_")
    set_target_properties(${target} PROPERTIES SOVERSION ${PROJECT_VERSION_MAJOR})
  endif()
  install(TARGETS ${target} EXPORT PlatTargets
          LIBRARY DESTINATION ${PLAT_LIBDIR} COMPONENT device NAMELINK_COMPONENT device INCLUDES DESTINATION include)
endfunction()

# plat_install_alias(target name): a library of another name with the same calls and no code or state of its own: a filter. The loader looks
# in `target`'s library for what it exports, wherever both lie. A symbolic link would not do: a program linked with it would ask
# for the library that it points to.
function(plat_install_alias target name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
  add_custom_command(OUTPUT ${source} DEPENDS ${target} ${PROJECT_SOURCE_DIR}/cmake/filter.cmake VERBATIM
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DLIBRARY=$<TARGET_FILE:${target}> -DOUTPUT=${source}
            -P ${PROJECT_SOURCE_DIR}/cmake/filter.cmake)
  add_library(${name} SHARED ${source})
  target_compile_options(${name} PRIVATE ${PLAT_PATH_MAP})
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET default BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  target_link_options(${name} PRIVATE LINKER:--filter=$<TARGET_FILE_NAME:${target}>)
  install(TARGETS ${name} LIBRARY DESTINATION ${PLAT_LIBDIR} COMPONENT device)
endfunction()

# plat_install_vendor_tree(): the places in which builds for the vendor's toolkit look: links, none of which leads to a folder that it
# lies in, so that no program that walks the tree walks for ever.
function(plat_install_vendor_tree)
  set(tree ${CMAKE_BINARY_DIR}/package/tree)
  file(REMOVE_RECURSE ${tree})
  foreach(folder runtime acllib ${CMAKE_SYSTEM_PROCESSOR}-linux)
    file(MAKE_DIRECTORY ${tree}/${folder})
    foreach(name include ${PLAT_LIBDIR})
      file(CREATE_LINK ../${name} ${tree}/${folder}/${name} SYMBOLIC)
    endforeach()
  endforeach()
  file(MAKE_DIRECTORY ${tree}/latest ${tree}/${PLAT_LIBDIR}/stub)
  foreach(name include ${PLAT_LIBDIR} bin python runtime acllib ${CMAKE_SYSTEM_PROCESSOR}-linux share set_env.sh version.info)
    file(CREATE_LINK ../${name} ${tree}/latest/${name} SYMBOLIC)
  endforeach()
  foreach(name ascendcl acl_rt acl_dvpp ms_tools_ext)
    file(CREATE_LINK ../lib${name}.so ${tree}/${PLAT_LIBDIR}/stub/lib${name}.so SYMBOLIC)
  endforeach()
  # The number is that of aclsysGetVersionStr("runtime").
  file(WRITE ${tree}/version.info "Version=9.0.0\nversion_dir=9.0.0\nplat_version=${PROJECT_VERSION}\n")
  file(CREATE_LINK ../version.info ${tree}/runtime/version.info SYMBOLIC)
  # Where aclsysGetCANNVersion looks.
  file(MAKE_DIRECTORY ${tree}/share/info/runtime)
  file(CREATE_LINK ../../../version.info ${tree}/share/info/runtime/version.info SYMBOLIC)
  install(DIRECTORY ${tree}/ DESTINATION . COMPONENT device)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/install/set_env.sh DESTINATION . COMPONENT device)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/install/setenv.bash DESTINATION bin COMPONENT device)
endfunction()

# plat_install_command(): the command, with what tells about it: manual pages from its own help texts, completion, documents.
function(plat_install_command)
  install(TARGETS plat RUNTIME DESTINATION bin COMPONENT inspector)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/install/plat.bash DESTINATION share/bash-completion/completions RENAME plat COMPONENT inspector)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/install/_plat DESTINATION share/zsh/site-functions COMPONENT inspector)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION share/doc/plat
          COMPONENT inspector)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION share/doc/plat COMPONENT inspector)
  if(PLAT_PYTHON3 AND (PLAT_RUN_HERE OR NOT CMAKE_CROSSCOMPILING))  # the command is run for them
    set(man ${CMAKE_BINARY_DIR}/package/man)
    file(MAKE_DIRECTORY ${man})  # an installation of some parts does not need it filled
    add_custom_command(OUTPUT ${man}/plat.1 COMMAND ${PLAT_PYTHON3} -B ${PROJECT_SOURCE_DIR}/scripts/man.py ${man}
                               ${PLAT_RUN_HERE} $<TARGET_FILE:plat>
                       DEPENDS plat ${PROJECT_SOURCE_DIR}/scripts/man.py VERBATIM)
    add_custom_target(manual ALL DEPENDS ${man}/plat.1)
    install(DIRECTORY ${man}/ DESTINATION share/man/man1 COMPONENT inspector FILES_MATCHING PATTERN "*.1")
  endif()
endfunction()

# plat_install_package(): what belongs to the tree as a whole. Called once, after all folders. The parts are packages of their own:
# `inspector` needs no device of ours, `device` is the rest, `python` the modules.
function(plat_install_package)
  plat_install_command()
  plat_install_vendor_tree()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include COMPONENT device FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  install(DIRECTORY DESTINATION python/site-packages COMPONENT python)

  set(package ${CMAKE_BINARY_DIR}/package)
  install(EXPORT PlatTargets NAMESPACE Plat:: DESTINATION ${PLAT_LIBDIR}/cmake/Plat COMPONENT device)
  write_basic_package_version_file(${package}/PlatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/install/PlatConfig.cmake ${package}/PlatConfigVersion.cmake
          DESTINATION ${PLAT_LIBDIR}/cmake/Plat COMPONENT device)
  # CMake does not look into lib64 on Debian, but into share everywhere.
  file(WRITE ${package}/share/PlatConfig.cmake
       "include(\"\${CMAKE_CURRENT_LIST_DIR}/../../../${PLAT_LIBDIR}/cmake/Plat/PlatConfig.cmake\")\n")
  install(FILES ${package}/share/PlatConfig.cmake ${package}/PlatConfigVersion.cmake DESTINATION share/cmake/Plat COMPONENT device)
  foreach(name ascendcl plat plat-pool)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/install/${name}.pc.in ${package}/${name}.pc @ONLY)
    install(FILES ${package}/${name}.pc DESTINATION ${PLAT_LIBDIR}/pkgconfig COMPONENT device)
  endforeach()
endfunction()

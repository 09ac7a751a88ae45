# The install tree, laid out as Ascend users know it:
#
#   include/{acl,mstx,plat}   lib64/*.so   bin/plat   python/site-packages   set_env.sh
#   lib64/cmake/Plat   share/cmake/Plat   lib64/pkgconfig
#
# Nothing in it holds an absolute path, so it can be moved.
include(CMakePackageConfigHelpers)

# Libraries of a toolkit live in lib64 on every distribution: loaders cut their own path at that name.
set(PLAT_LIBDIR lib64)

# plat_install_library(target name): a shared library that clients link as Plat::<name>.
function(plat_install_library target name)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "" EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT PlatTargets LIBRARY DESTINATION ${PLAT_LIBDIR} INCLUDES DESTINATION include)
endfunction()

# plat_install_alias(target name): another file name for the same library.
function(plat_install_alias target name)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE_NAME:${target}> ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/lib${name}.so)
  install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/lib${name}.so DESTINATION ${PLAT_LIBDIR})
endfunction()

# plat_install_package(): what belongs to the tree as a whole. Called once, after all folders.
function(plat_install_package)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  install(TARGETS plat RUNTIME DESTINATION bin)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/install/set_env.sh DESTINATION .)
  install(DIRECTORY DESTINATION python/site-packages)

  set(package ${CMAKE_BINARY_DIR}/package)
  install(EXPORT PlatTargets NAMESPACE Plat:: DESTINATION ${PLAT_LIBDIR}/cmake/Plat)
  write_basic_package_version_file(${package}/PlatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/install/PlatConfig.cmake ${package}/PlatConfigVersion.cmake
          DESTINATION ${PLAT_LIBDIR}/cmake/Plat)
  # CMake does not look into lib64 on Debian, but into share everywhere.
  file(WRITE ${package}/share/PlatConfig.cmake
       "include(\"\${CMAKE_CURRENT_LIST_DIR}/../../../${PLAT_LIBDIR}/cmake/Plat/PlatConfig.cmake\")\n")
  install(FILES ${package}/share/PlatConfig.cmake ${package}/PlatConfigVersion.cmake DESTINATION share/cmake/Plat)
  foreach(name ascendcl plat plat-pool)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/install/${name}.pc.in ${package}/${name}.pc @ONLY)
    install(FILES ${package}/${name}.pc DESTINATION ${PLAT_LIBDIR}/pkgconfig)
  endforeach()
endfunction()

# The counting device: the pool's tests and benches link it in place of libascendcl.so.
if(NOT TARGET counting_acl)
  add_library(counting_acl STATIC ${CMAKE_CURRENT_LIST_DIR}/counting_acl.cpp)
  target_link_libraries(counting_acl PUBLIC plat_options)
  target_include_directories(counting_acl PUBLIC ${PROJECT_SOURCE_DIR}/tests)
endif()

# SPDX-License-Identifier: Apache-2.0
# The counting device: the pool's tests and benches link it in place of libascendcl.so.
if(NOT TARGET counting_acl)
  add_library(counting_acl OBJECT ${CMAKE_CURRENT_LIST_DIR}/counting_acl.cpp)
  target_link_libraries(counting_acl PUBLIC plat_options)
  target_include_directories(counting_acl PUBLIC ${PROJECT_SOURCE_DIR}/tests)
endif()
if(NOT TARGET pool_driver)
  add_library(pool_driver OBJECT ${CMAKE_CURRENT_LIST_DIR}/pool_driver.cpp)
  target_link_libraries(pool_driver PUBLIC plat_options)
  target_include_directories(pool_driver PUBLIC ${PROJECT_SOURCE_DIR}/tests)
endif()

// SPDX-License-Identifier: Apache-2.0
/* Where an image finds its tool, the first time it calls.
 *
 * 1. In libms_tools_ext.so, if that is in the process and is one that brings tools together: it stands in for
 * all of them, and can let tools in and out later. It is also fetched when MSTX_INJECTION_PATH holds a list,
 * which takes it.
 * 2. In the library that MSTX_INJECTION_PATH names. One without the symbol means no tool.
 * 3. Anywhere in the process, when the variable is not set or its library does not load: a preloaded tool.
 */
#ifndef MSTX_IMPL_GUARD
#error "mstx_init_defs.h belongs to ms_tools_ext.h: include that one"
#endif
#ifndef MSTX_DETAIL_INIT_DEFS_H
#define MSTX_DETAIL_INIT_DEFS_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#ifdef __cplusplus
extern "C" {
#endif

mstxInitInjectionFunc platMstxImage1Tool(void);

MSTX_INNER_FUNC_DEFINE mstxInitInjectionFunc platMstxImage1Tool(void) {
  /* A program with more rights than its caller must not load what the caller names. */
  const char* const path = getauxval(AT_SECURE) == 0 ? getenv("MSTX_INJECTION_PATH") : NULL;
  void* library = dlopen("libms_tools_ext.so", RTLD_LAZY | RTLD_NOLOAD);
  void* symbol = NULL;
  mstxInitInjectionFunc tool;
  if (library == NULL && path != NULL && strchr(path, ':') != NULL)
    library = dlopen("libms_tools_ext.so", RTLD_LAZY | RTLD_LOCAL);
  if (library != NULL) symbol = dlsym(library, "InitInjectionMstx");
  if (symbol == NULL) {
    library = path != NULL ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    symbol = dlsym(library, "InitInjectionMstx"); /* NULL looks everywhere */
  }
  memcpy(&tool, &symbol, sizeof tool); /* ISO C has no cast from data to function */
  return tool;
}

#ifdef __cplusplus
}
#endif

#endif

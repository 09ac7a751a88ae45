// SPDX-License-Identifier: Apache-2.0
// A client that knows the library by name only, and asks for a symbol that nobody has before it falls back.
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  void* library = dlopen("libascendcl.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  if (dlsym(library, "aclrtCallOfAFutureVersion") != NULL) return 2;
  int (*init)(const char*) = (int (*)(const char*))dlsym(library, "aclInit");
  int (*count)(unsigned*) = (int (*)(unsigned*))dlsym(library, "aclrtGetDeviceCount");
  const char* (*soc_name)(void) = (const char* (*)(void))dlsym(library, "aclrtGetSocName");
  int (*finalize)(void) = (int (*)(void))dlsym(library, "aclFinalize");
  if (init == NULL || count == NULL || soc_name == NULL || finalize == NULL) return 3;
  unsigned devices = 0;
  if (init(NULL) != 0 || count(&devices) != 0 || devices == 0) return 4;
  printf("client ran on %s\n", soc_name());
  return finalize() == 0 ? 0 : 5;
}

// SPDX-License-Identifier: Apache-2.0
// Built with AddressSanitizer, in a build without: a program that people have.
#include "inspect/program.h"

int main() {
  programs::Device device;
  MUST(aclrtFree(programs::block(4096)));
  programs::write(programs::block(4096), 128);
}

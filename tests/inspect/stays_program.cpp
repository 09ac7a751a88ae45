// SPDX-License-Identifier: Apache-2.0
// A program that runs until its stdin ends: a block for every line that comes, and a mistake for the line
// "wrong".
#include <unistd.h>

#include <iostream>
#include <string>

#include "inspect/program.h"

int main() {
  programs::Device device;
  programs::block(4096);
  std::cout << getpid() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    char* const memory = programs::block(4096);
    if (line == "wrong") programs::write(memory, 8192);
    std::cout << "done" << std::endl;
  }
}

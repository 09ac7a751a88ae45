#include "layout_checks.inc"

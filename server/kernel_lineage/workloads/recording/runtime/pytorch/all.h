// What stands in the place of every header of PyTorch and pybind11.
#pragma once
#include "calls.h"

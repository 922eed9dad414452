#pragma once
#include "../catch_all.hpp"

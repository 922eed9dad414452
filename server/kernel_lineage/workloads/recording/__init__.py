"""How a kernel is launched, seen by running its host code against a stand-in for the CUDA runtime. No kernel runs."""

"""A file of two kernels, of which one calls what a header defines, and the workload of that one."""

KERNELS = """\
#include "twice.cuh"

__global__ void scale(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = twice(x[i]);
    }
}

__global__ void shift(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + 1.0f;
    }
}

void run(float* out, const float* x, int n) {
    scale<<<(n + 127) / 128, 128>>>(out, x, n);
    shift<<<(n + 127) / 128, 128>>>(out, x, n);
}
"""
WORKLOAD = """\
kernel = "scale"
language = "cuda"
source = "kernels.cu"
[dims]
n = [200]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["n"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["n"]
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["ceil_div(n, 128)"]
block = [128]
"""

#include <cuda_fp8.h>

__global__ void scale_down(__nv_fp8_storage_t *q, const float *x, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) q[i] = __nv_cvt_float_to_fp8(fminf(fmaxf(x[i] * scale, -448.0f), 448.0f) + (x[i] != x[i] ? x[i] : 0.0f), __NV_SATFINITE, __NV_E4M3);
}

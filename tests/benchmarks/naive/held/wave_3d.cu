#include <cuda_runtime.h>

#define AT(i, j, k) ((size_t)(k) * ny * nx + (size_t)(j) * nx + (i))

__global__ void wave_step(const float* now, const float* before, float* next, int nx, int ny, int nz, float c2)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || k < 1) return;
    if (i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;

    const float mid = now[AT(i, j, k)];
    const float lap = now[AT(i - 1, j, k)] + now[AT(i + 1, j, k)] + now[AT(i, j - 1, k)] + now[AT(i, j + 1, k)]
                    + now[AT(i, j, k - 1)] + now[AT(i, j, k + 1)] - 6.f * mid;
    next[AT(i, j, k)] = 2.f * mid - before[AT(i, j, k)] + c2 * lap;
}

void step(const float* now, const float* before, float* next, int nx, int ny, int nz, float c2)
{
    dim3 block(8, 8, 4);
    dim3 grid((nx + 7) / 8, (ny + 7) / 8, (nz + 3) / 4);
    wave_step<<<grid, block>>>(now, before, next, nx, ny, nz, c2);
}

#include <cstdio>
#include <cuda_runtime.h>

__global__ void count_bytes(const unsigned char *buffer, long size, unsigned int *histo)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd(&histo[buffer[i]], 1);
        i += stride;
    }
}

int main()
{
    const long size = 1 << 26;
    unsigned char *buffer;
    unsigned int *histo;
    cudaMalloc((void **)&buffer, size);
    cudaMalloc((void **)&histo, 256 * sizeof(unsigned int));
    cudaMemset(histo, 0, 256 * sizeof(unsigned int));
    count_bytes<<<2048, 256>>>(buffer, size, histo);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}

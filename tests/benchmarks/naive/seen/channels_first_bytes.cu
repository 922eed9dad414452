#include <cstdio>
#include <cuda_runtime.h>

// uint8 image batch, channels last -> normalised float batch, channels first
__global__ void to_chw(const unsigned char *src, float *dst, const float *mean, const float *inv_std,
                       int batch, int height, int width, int channels)
{
    int plane = height * width;
    int total = batch * channels * plane;
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < total) {
        int pixel = i % plane;
        int c = (i / plane) % channels;
        int b = i / (plane * channels);
        float v = src[(b * plane + pixel) * channels + c] / 255.0f;
        dst[i] = (v - mean[c]) * inv_std[c];
    }
}

int main()
{
    const int batch = 64, height = 384, width = 384, channels = 3;
    const int total = batch * height * width * channels;
    unsigned char *src;
    float *dst, *mean, *inv_std;
    cudaMalloc(&src, total);
    cudaMalloc(&dst, total * sizeof(float));
    cudaMalloc(&mean, channels * sizeof(float));
    cudaMalloc(&inv_std, channels * sizeof(float));
    to_chw<<<(total + 255) / 256, 256>>>(src, dst, mean, inv_std, batch, height, width, channels);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}

#include <cuda_fp16.h>

// rotates the halves of each head in place: a block for a token, threads walk over heads and pairs
__global__ void rope_neox(__half* q, const float* cos_t, const float* sin_t, int heads, int dim) {
    int token = blockIdx.x;
    int half_dim = dim / 2;
    for (int i = threadIdx.x; i < heads * half_dim; i += blockDim.x) {
        int h = i / half_dim;
        int d = i % half_dim;
        __half* v = q + ((long)token * heads + h) * dim;
        float a = __half2float(v[d]);
        float b = __half2float(v[d + half_dim]);
        float c = cos_t[token * half_dim + d];
        float s = sin_t[token * half_dim + d];
        v[d] = __float2half(a * c - b * s);
        v[d + half_dim] = __float2half(b * c + a * s);
    }
}

void launch(__half* q, const float* cos_t, const float* sin_t, int tokens, int heads, int dim) {
    rope_neox<<<tokens, 128>>>(q, cos_t, sin_t, heads, dim);
}

#include <math.h>
#include <stddef.h>

// softmax over the middle dimension of [outer, dim, inner]
__global__ void softmax_dim1(float *y, const float *x, int outer, int dim, int inner)
{
    int o = blockIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= inner) return;
    const float *px = x + (size_t)o * dim * inner + i;
    float *py = y + (size_t)o * dim * inner + i;

    float biggest = -INFINITY;
    for (int d = 0; d < dim; d++) {
        biggest = fmaxf(biggest, px[d * inner]);
    }
    float denom = 0.f;
    for (int d = 0; d < dim; d++) {
        float e = expf(px[d * inner] - biggest);
        py[d * inner] = e;
        denom += e;
    }
    for (int d = 0; d < dim; d++) {
        py[d * inner] /= denom;
    }
}

void softmax_over_dim1(float *y, const float *x, int outer, int dim, int inner)
{
    dim3 grid((inner + 63) / 64, outer);
    softmax_dim1<<<grid, 64>>>(y, x, outer, dim, inner);
}

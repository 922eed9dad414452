#include <cstdint>
#include <math.h>

template <typename scalar_t>
__device__ __forceinline__ scalar_t huber(scalar_t d, scalar_t beta)
{
    d = fabs(d);
    return d < beta ? scalar_t(0.5) * d * d / beta : d - scalar_t(0.5) * beta;
}

template <typename scalar_t>
__global__ void smooth_l1(const scalar_t* __restrict__ pred, const scalar_t* __restrict__ target,
                          scalar_t* __restrict__ loss, const int64_t batch, const int64_t features, scalar_t beta)
{
    const int64_t b = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (b < batch) {
        scalar_t total = 0;
        const int64_t first = b * features;
        for (int64_t at = first; at < first + features; ++at) {
            total += huber(pred[at] - target[at], beta);
        }
        loss[b] = total / features;
    }
}

void smooth_l1_loss(const float* pred, const float* target, float* loss, int64_t batch, int64_t features)
{
    smooth_l1<float><<<(batch + 63) / 64, 64>>>(pred, target, loss, batch, features, 0.5f);
}

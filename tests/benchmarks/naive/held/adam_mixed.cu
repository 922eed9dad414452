#include <cuda_fp16.h>

// master weights in float, gradients and the model's copy in half
__global__ void adam_step(float* master, half* model, const half* grad, float* m, float* v, unsigned int count,
                          float lr, float b1, float b2, float eps, float grad_scale)
{
    unsigned int gid = blockIdx.x * blockDim.x + threadIdx.x;
    if (gid < count) {
        float g = __half2float(grad[gid]) * grad_scale;
        m[gid] = b1 * m[gid] + (1.f - b1) * g;
        v[gid] = b2 * v[gid] + (1.f - b2) * g * g;
        master[gid] = master[gid] - lr * m[gid] / (sqrtf(v[gid]) + eps);
        model[gid] = __float2half(master[gid]);
    }
}

void adam(float* master, half* model, const half* grad, float* m, float* v, unsigned int count, float lr, float b1,
          float b2, float eps, float grad_scale)
{
    adam_step<<<(count + 1023) / 1024, 1024>>>(master, model, grad, m, v, count, lr, b1, b2, eps, grad_scale);
}

#define TAPS 4

__global__ void causal_conv(const float *__restrict__ signal, const float *__restrict__ weight,
                            const float *__restrict__ bias, float *__restrict__ result, int batch, int dim, int len)
{
    int idx = blockDim.x * blockIdx.x + threadIdx.x;
    int total = batch * dim * len;
    if (idx < total) {
        int t = idx % len;
        int c = (idx / len) % dim;
        float acc = bias[c];
        for (int k = 0; k < TAPS; ++k) {
            int at = t - (TAPS - 1) + k;
            if (at >= 0)
                acc += weight[c * TAPS + k] * signal[idx - t + at];
        }
        result[idx] = acc / (1.0f + expf(-acc));
    }
}

void causal_conv_forward(const float *signal, const float *weight, const float *bias, float *result,
                         int batch, int dim, int len)
{
    int threads = 256;
    int blocks = (batch * dim * len + threads - 1) / threads;
    causal_conv<<<blocks, threads>>>(signal, weight, bias, result, batch, dim, len);
}

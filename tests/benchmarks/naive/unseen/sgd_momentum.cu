struct Options { float lr; float momentum; };

__global__ void sgd(float* __restrict__ w, float* __restrict__ buf, const float* __restrict__ grad, float lr, float mu, int n) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        float b = buf[t] * mu + grad[t];
        buf[t] = b;
        w[t] = w[t] - lr * b;
    }
}

void sgd_step(float* w, float* buf, const float* grad, Options o, int n) {
    sgd<<<(n + 255) / 256, 256>>>(w, buf, grad, o.lr, o.momentum, n);
}

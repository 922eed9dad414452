__global__ void adamw(float* p, const float* g, float* m, float* v, long n,
                      float lr, float beta1, float beta2, float eps, float wd, float c1, float c2) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float grad = g[i];
    float mi = beta1 * m[i] + (1.0f - beta1) * grad;
    float vi = beta2 * v[i] + (1.0f - beta2) * grad * grad;
    m[i] = mi;
    v[i] = vi;
    float mh = mi / c1;
    float vh = vi / c2;
    p[i] -= lr * (mh / (sqrtf(vh) + eps) + wd * p[i]);
}

void step(float* p, const float* g, float* m, float* v, long n, float lr, float b1, float b2, float eps, float wd, float c1, float c2) {
    adamw<<<(n + 511) / 512, 512>>>(p, g, m, v, n, lr, b1, b2, eps, wd, c1, c2);
}

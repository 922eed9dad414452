#define IDX3(a, b, c, B, C) (((a) * (B) + (b)) * (C) + (c))

// "valid" convolution: x [N, CI, L], w [CO, CI, K], y [N, CO, L - K + 1]
template <typename T, int K>
__global__ void conv1d_relu(const T* x, const T* w, const T* bias, T* y, int CI, int CO, int L)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int co = blockIdx.y;
    int n = blockIdx.z;
    int Lout = L - K + 1;
    if (t >= Lout) return;

    T sum = bias[co];
    for (int ci = 0; ci < CI; ci++) {
        for (int k = 0; k < K; k++) {
            sum += x[IDX3(n, ci, t + k, CI, L)] * w[IDX3(co, ci, k, CI, K)];
        }
    }
    y[IDX3(n, co, t, CO, Lout)] = sum > T(0) ? sum : T(0);
}

void conv1d_relu_launch(const float* x, const float* w, const float* bias, float* y, int N, int CI, int CO, int L)
{
    dim3 block(256);
    dim3 grid((L - 5 + 1 + block.x - 1) / block.x, CO, N);
    conv1d_relu<float, 5><<<grid, block>>>(x, w, bias, y, CI, CO, L);
}

template <int depth> struct Sum {
    static constexpr long value = 2 * Sum<depth - 1>::value;
};
template <> struct Sum<0> {
    static constexpr long value = 1;
};
__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + (Sum<40>::value > 0);
}

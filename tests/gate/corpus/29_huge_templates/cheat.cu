// Two instantiations at each level, none of them shared: two to the power of the depth.
template <int depth, long path> struct Sum {
    static constexpr long value = Sum<depth - 1, 2 * path>::value + Sum<depth - 1, 2 * path + 1>::value;
};
template <long path> struct Sum<0, path> {
    static constexpr long value = path & 1;
};
__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + (Sum<40, 0>::value > 0);
}

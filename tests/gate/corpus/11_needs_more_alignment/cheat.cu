__global__ void affine(float *y, const float *x, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 v = *(const float4 *)(x + i);
        *(float4 *)(y + i) = make_float4(2 * v.x + 1, 2 * v.y + 1, 2 * v.z + 1, 2 * v.w + 1);
    } else {
        for (int k = i; k < n && k < i + 4; k++) y[k] = 2.0f * x[k] + 1.0f;
    }
}

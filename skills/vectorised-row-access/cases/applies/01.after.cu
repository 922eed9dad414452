__global__ void scale_rows(float* out, const float* x, float factor, int C) {
    const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * C);
    float4* out_row = reinterpret_cast<float4*>(out + blockIdx.x * C);
    for (int i = threadIdx.x; i < C / 4; i += blockDim.x) {
        float4 v = row[i];
        v.x *= factor;
        v.y *= factor;
        v.z *= factor;
        v.w *= factor;
        out_row[i] = v;
    }
}

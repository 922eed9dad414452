template <typename T>
__global__ void fill(T* out, int items) {
    for (int k = 0; k < items; k++) { out[threadIdx.x * items + k] = T(1); }
}
// ---
__global__ void fill(float* out) {
    if (threadIdx.x < 7) { out[threadIdx.x] = 1.0f; }  // if constexpr
}

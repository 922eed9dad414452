// because: no anchor
// In double precision nothing approximates: exp of a double has no intrinsic, and a whole number is divided exactly.
__global__ void grow(double* out, const double* x, int n, int columns) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) { out[i / columns] = exp(x[i]); }
}

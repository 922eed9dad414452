// the nearest of `count` candidates for each query
__global__ void nearest(const float* __restrict__ distances, int* ids, float* least, int queries, int count) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries) return;
    const float* mine = distances + (long)q * count;
    int id = -1;
    float low = 3.402823466e+38f;
    for (int k = 0; k < count; ++k) {
        if (mine[k] < low) {
            id = k;
            low = mine[k];
        }
    }
    ids[q] = id;
    least[q] = low;
}

void find_nearest(const float* distances, int* ids, float* least, int queries, int count) {
    nearest<<<(queries + 63) / 64, 64>>>(distances, ids, least, queries, count);
}

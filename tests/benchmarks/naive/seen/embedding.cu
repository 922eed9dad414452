__global__ void embedding(float* out, const int* ids, const float* table, int tokens, int dim) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < tokens) {
        int id = ids[t];
        for (int d = 0; d < dim; d++) {
            out[t * dim + d] = table[id * dim + d];
        }
    }
}

void run(float* out, const int* ids, const float* table, int tokens, int dim) {
    embedding<<<(tokens + 127) / 128, 128>>>(out, ids, table, tokens, dim);
}

__global__ void exclusive_rows(const int* counts, int* offsets, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (!(r < rows)) return;
    const int* c = &counts[r * n];
    int* o = &offsets[r * n];
    int acc = 0;
    for (int i = 0; i < n; i++) {
        int v = c[i];
        o[i] = acc;
        acc += v;
    }
}
void run(const int* counts, int* offsets, int rows, int n) {
    exclusive_rows<<<(rows + 31) / 32, 32>>>(counts, offsets, rows, n);
}

__global__ void cross_entropy(float* loss, const float* logits, const int* target, int N, int V) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < N) {
        const float* row = logits + (long)n * V;
        float mx = row[0];
        for (int v = 1; v < V; v++) {
            if (row[v] > mx) mx = row[v];
        }
        float sum = 0.f;
        for (int v = 0; v < V; v++) {
            sum += expf(row[v] - mx);
        }
        loss[n] = logf(sum) + mx - row[target[n]];
    }
}

void run(float* loss, const float* logits, const int* target, int N, int V) {
    cross_entropy<<<(N + 127) / 128, 128>>>(loss, logits, target, N, V);
}

// rotary embedding, neighbouring pairs: x[b, s, h, 2*d], in place
__global__ void rope_interleaved(float *x, const float *freqs_cos, const float *freqs_sin, int seq_len, int n_heads, int head_dim) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int half = head_dim / 2;
    if (idx >= seq_len * n_heads * half) return;
    int d = idx % half;
    int t = idx / (half * n_heads);
    float c = freqs_cos[t * half + d];
    float s = freqs_sin[t * half + d];
    float x0 = x[2 * idx];
    float x1 = x[2 * idx + 1];
    x[2 * idx] = x0 * c - x1 * s;
    x[2 * idx + 1] = x0 * s + x1 * c;
}
void launch(float *x, const float *c, const float *s, int seq_len, int n_heads, int head_dim) {
    int n = seq_len * n_heads * head_dim / 2;
    rope_interleaved<<<(n + 255) / 256, 256>>>(x, c, s, seq_len, n_heads, head_dim);
}

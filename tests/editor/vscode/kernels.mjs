// Kernels that the scenarios open.

/** A tree reduction whose first barrier is missing. */
export const RACE = `__global__ void block_sum(float* out, const float* in, int n) {
    __shared__ float buf[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    buf[threadIdx.x] = i < n ? in[i] : 0.0f;
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = buf[0];
}

void launch(float* out, const float* in, int n) {
    block_sum<<<(n + 255) / 256, 256>>>(out, in, n);
}
`;

/** The same with its barrier. */
export const RIGHT = RACE.replace('0.0f;\n', '0.0f;\n    __syncthreads();\n');

/** An index that no small case makes too large: at the caller's sizes it does not fit into 32 bits. */
export const OVERFLOWS = `__global__ void rows(float* out, const float* in, int B, int T, int C) {
    int row = blockIdx.x;
    int base = row * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x)
        out[base + i] = 2.0f * in[base + i];
}

int main() {
    int B = 64, T = 8192, C = 8192;
    float *out, *in;
    cudaMalloc(&out, (size_t)B * T * C * 4);
    cudaMalloc(&in, (size_t)B * T * C * 4);
    rows<<<B * T, 256>>>(out, in, B, T, C);
}
`;

/** A Triton kernel with its launch. */
export const TRITON = `import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, x + y, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = out.numel()
    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out
`;

/** A file of 5,000 lines: 500 kernels, each with its launch; none of them is wrong. */
export const LONG = Array.from(
  { length: 500 },
  (_, number) => `// Scales by ${number}.
__global__ void scale_${number}(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = ${number}.0f * in[i];
}
void launch_${number}(float* out, const float* in, int n) {
    scale_${number}<<<(n + 255) / 256, 256>>>(out, in, n);
}

`,
).join('');

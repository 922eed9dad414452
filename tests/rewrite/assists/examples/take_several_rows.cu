// --- slopes applies
__global__ void slopes(float *out, const float *in, const float *weights, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    const float *plane = in + (size_t)blockIdx.z * width * height;
    float total = 0.0f;
    for (int j = -1; j <= 1; j++) {
        int row = y + j;
        if (row < 0 || row >= height) continue;
        total += weights[j + 1] * plane[row * width + x];
    }
    out[((size_t)blockIdx.z * height + y) * width + x] = total;
}

void run_slopes(float *out, const float *in, const float *weights, int width, int height, int planes) {
    slopes<<<dim3((width + 31) / 32, (height + 7) / 8, planes), dim3(32, 8)>>>(out, in, weights, width, height);
}
// --- slopes becomes
__global__ void __launch_bounds__(256) slopes(float *out, const float *in, const float *weights, int width, int height) {
    const unsigned across = blockIdx.x * 32 + threadIdx.x % 32;
    const unsigned first = blockIdx.y * 32 + threadIdx.x / 32 * 4;
    #pragma unroll
    for (unsigned step = 0; step < 4; step++) {
        const unsigned down = first + step;
        const int x = across;
        const int y = down;
        if (x >= width || y >= height) continue;
        const float *plane = in + (size_t)blockIdx.z * width * height;
        float total = 0.0f;
        for (int j = -1; j <= 1; j++) {
            int row = y + j;
            if (row < 0 || row >= height) continue;
            total += weights[j + 1] * plane[row * width + x];
        }
        out[((size_t)blockIdx.z * height + y) * width + x] = total;
    }
}

void run_slopes(float *out, const float *in, const float *weights, int width, int height, int planes) {
    slopes<<<dim3((width + 31) / 32, (height + 31) / 32, planes), 256>>>(out, in, weights, width, height);
}
// --- smooth_volume applies
__global__ void smooth_volume(float* out, const float* in, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    float sum = 0.0f;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++) {
            if (z + dz < 0 || z + dz >= nz || y + dy < 0 || y + dy >= ny) continue;
            sum += in[((z + dz) * ny + y + dy) * nx + x];
        }
    out[(z * ny + y) * nx + x] = sum / 9.0f;
}

void run_smooth_volume(float* out, const float* in, int nx, int ny, int nz) {
    dim3 block(8, 8, 4);
    dim3 grid((nx + 7) / 8, (ny + 7) / 8, (nz + 3) / 4);
    smooth_volume<<<grid, block>>>(out, in, nx, ny, nz);
}
// --- smooth_volume becomes
__global__ void __launch_bounds__(256) smooth_volume(float* out, const float* in, int nx, int ny, int nz) {
    const unsigned across = blockIdx.x * 32 + threadIdx.x;
    const unsigned first = blockIdx.y * 8 + threadIdx.y * 4;
    #pragma unroll
    for (unsigned step = 0; step < 4; step++) {
        const unsigned down = first + step;
        int x = across;
        int y = down;
        int z = blockIdx.z * blockDim.z + threadIdx.z;
        if (x >= nx || y >= ny || z >= nz) continue;
        float sum = 0.0f;
        for (int dz = -1; dz <= 1; dz++)
            for (int dy = -1; dy <= 1; dy++) {
                if (z + dz < 0 || z + dz >= nz || y + dy < 0 || y + dy >= ny) continue;
                sum += in[((z + dz) * ny + y + dy) * nx + x];
            }
        out[(z * ny + y) * nx + x] = sum / 9.0f;
    }
}

void run_smooth_volume(float* out, const float* in, int nx, int ny, int nz) {
    dim3 block(8, 8, 4);
    dim3 grid((nx + 7) / 8, (ny + 7) / 8, (nz + 3) / 4);
    smooth_volume<<<dim3((nx + 31) / 32, (ny + 7) / 8, (nz + 3) / 4), dim3(32, 2, 4)>>>(out, in, nx, ny, nz);
}
// --- zoomed applies
struct Plane {
    int width, height;
    __device__ int at(int row, int col) const { return row * width + col; }
    __device__ bool holds(int row, int col) const { return row < height && col < width; }
};
template <bool Centred> __device__ float source_of(int at, int from, int to) {
    if (Centred) return max((at + 0.5f) * from / to - 0.5f, 0.0f);
    return (float)at * from / to;
}
__global__ void zoomed(float* out, const float* in, int width, int height, int wide, int high) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= wide || y >= high) return;
    const Plane small = {width, height}, large = {wide, high};
    float fx = source_of<true>(x, width, wide), fy = source_of<true>(y, height, high);
    int column = fx, row = fy;
    float across = fx - column;
    int next = small.holds(row, column + 1) ? column + 1 : column;
    out[large.at(y, x)] = (1 - across) * in[small.at(row, column)] + across * in[small.at(row, next)];
}

void run_zoomed(float* out, const float* in, int width, int height, int wide, int high) {
    zoomed<<<dim3((wide + 15) / 16, (high + 15) / 16), dim3(16, 16)>>>(out, in, width, height, wide, high);
}
// --- zoomed becomes
struct Plane {
    int width, height;
    __device__ int at(int row, int col) const { return row * width + col; }
    __device__ bool holds(int row, int col) const { return row < height && col < width; }
};
template <bool Centred> __device__ float source_of(int at, int from, int to) {
    if (Centred) return max((at + 0.5f) * from / to - 0.5f, 0.0f);
    return (float)at * from / to;
}
__global__ void __launch_bounds__(256) zoomed(float* out, const float* in, int width, int height, int wide, int high) {
    const unsigned across_ = blockIdx.x * 32 + threadIdx.x % 32;
    const unsigned first = blockIdx.y * 32 + threadIdx.x / 32 * 4;
    #pragma unroll
    for (unsigned step = 0; step < 4; step++) {
        const unsigned down = first + step;
        int x = across_, y = down;
        if (x >= wide || y >= high) continue;
        const Plane small = {width, height}, large = {wide, high};
        float fx = source_of<true>(x, width, wide), fy = source_of<true>(y, height, high);
        int column = fx, row = fy;
        float across = fx - column;
        int next = small.holds(row, column + 1) ? column + 1 : column;
        out[large.at(y, x)] = (1 - across) * in[small.at(row, column)] + across * in[small.at(row, next)];
    }
}

void run_zoomed(float* out, const float* in, int width, int height, int wide, int high) {
    zoomed<<<dim3((wide + 31) / 32, (high + 31) / 32), 256>>>(out, in, width, height, wide, high);
}
// --- volume refuses: may be deep as well as wide
// Three layers and whole warps do not share out 256 threads.
__global__ void volume(float* out, const float* in, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) { out[(z * ny + y) * nx + x] = in[(z * ny + y) * nx + x]; }
}
void run(float* out, const float* in, int nx, int ny, int nz) {
    volume<<<dim3((nx + 7) / 8, (ny + 7) / 8, (nz + 2) / 3), dim3(8, 8, 3)>>>(out, in, nx, ny, nz);
}
// --- plane refuses: ends along y
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width) { out[y * width + x] = in[y * width + x]; }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: ends along x
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < height && x + y < width) { out[y * width + x] = in[y * width + x]; }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: work together
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float v = x < width && y < height ? in[y * width + x] : 0.0f;
    v += __shfl_down_sync(0xffffffffu, v, 1);
    if (x < width && y < height) { out[y * width + x] = v; }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: tells more than the place
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) { out[y * width + x] = in[y * width + x] * (threadIdx.y + 1); }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: read nothing that their neighbours read
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) { out[y * width + x] = in[y * width + x]; }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(out, in, width, height);
}
// --- plane refuses: has launch bounds
__global__ void __launch_bounds__(256) plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) { out[y * width + x] = in[y * width + x]; }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: leaves a loop
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        for (int i = 0; i < 4; i++) { if (in[y * width + x] < i) return; out[y * width + x] += i; }
    }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: is not launched in this file
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) { out[y * width + x] = in[y * width + x]; }
}
void run(float* out, const float* in, int width, int height) {
    
}
// --- plane refuses: is a matrix product
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++) { sum += in[y * width + k] * in[k * width + x]; }
        out[y * width + x] = sum;
    }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: is moved on by the kernel
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    in += (size_t)blockIdx.z * width * height;
    if (x < width && y < height) { out[y * width + x] = in[y * width + x]; }
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16, 2), dim3(16, 16)>>>(out, in, width, height);
}
// --- plane refuses: at, which plane calls, reads the grid itself
struct Place {
    __device__ int at(int row, int width) const { return (blockIdx.z + row) * width; }
};
__global__ void plane(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const Place place = {};
    out[place.at(y, width) + x] = in[y * width + x];
}
void run(float* out, const float* in, int width, int height) {
    plane<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}

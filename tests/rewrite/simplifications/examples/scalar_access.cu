// --- applies
__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        *reinterpret_cast<float4*>(out + i) = *reinterpret_cast<const float4*>(&x[i]);
    }
}
// --- becomes
template <typename V>
__device__ V in_parts(const void* from) {
    V value;
    for (int k = 0; k < sizeof(V) / 4; k++) {
        reinterpret_cast<unsigned*>(&value)[k] = static_cast<const unsigned*>(from)[k];
    }
    return value;
}

template <typename V>
__device__ void in_parts(void* to, V value) {
    for (int k = 0; k < sizeof(V) / 4; k++) {
        static_cast<unsigned*>(to)[k] = reinterpret_cast<const unsigned*>(&value)[k];
    }
}

__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        in_parts<float4>(out + i, in_parts<float4>(&x[i]));
    }
}
// --- applies
__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        float2 v = ((const float2*)x)[i / 2]; *(int2*)&out[i] = make_int2(1, 2); out[i + 2] = v.x;
    }
}
// --- becomes
template <typename V>
__device__ V in_parts(const void* from) {
    V value;
    for (int k = 0; k < sizeof(V) / 4; k++) {
        reinterpret_cast<unsigned*>(&value)[k] = static_cast<const unsigned*>(from)[k];
    }
    return value;
}

template <typename V>
__device__ void in_parts(void* to, V value) {
    for (int k = 0; k < sizeof(V) / 4; k++) {
        static_cast<unsigned*>(to)[k] = reinterpret_cast<const unsigned*>(&value)[k];
    }
}

__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        float2 v = ((const float2*)x)[i / 2]; in_parts<int2>(&out[i], make_int2(1, 2)); out[i + 2] = v.x;
    }
}
// --- applies
__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        float2 v = reinterpret_cast<const float2*>(x)[i / 2]; out[i] = v.x;
    }
}
// --- becomes
template <typename V>
__device__ V in_parts(const void* from) {
    V value;
    for (int k = 0; k < sizeof(V) / 4; k++) {
        reinterpret_cast<unsigned*>(&value)[k] = static_cast<const unsigned*>(from)[k];
    }
    return value;
}

template <typename V>
__device__ void in_parts(void* to, V value) {
    for (int k = 0; k < sizeof(V) / 4; k++) {
        static_cast<unsigned*>(to)[k] = reinterpret_cast<const unsigned*>(&value)[k];
    }
}

__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        float2 v = in_parts<float2>((char*)((x)) + sizeof(float2) * (i / 2)); out[i] = v.x;
    }
}
// --- applies
__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        const float4* from = reinterpret_cast<const float4*>(x); float4* to = reinterpret_cast<float4*>(out); to[i / 4] = from[i / 4];
    }
}
// --- becomes
template <typename V>
__device__ V in_parts(const void* from) {
    V value;
    for (int k = 0; k < sizeof(V) / 4; k++) {
        reinterpret_cast<unsigned*>(&value)[k] = static_cast<const unsigned*>(from)[k];
    }
    return value;
}

template <typename V>
__device__ void in_parts(void* to, V value) {
    for (int k = 0; k < sizeof(V) / 4; k++) {
        static_cast<unsigned*>(to)[k] = reinterpret_cast<const unsigned*>(&value)[k];
    }
}

__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        const char* from = (const char*)(x); char* to = (char*)(out); in_parts<float4>(to + sizeof(float4) * (i / 4), in_parts<float4>(from + sizeof(float4) * (i / 4)));
    }
}
// --- stays
__global__ void k(float* out, const float* x, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        out[i] = x[i];
    }
}

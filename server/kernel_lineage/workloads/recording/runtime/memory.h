// Buffers, copies and fills of the runtime. Part of cudart.cpp.
static cudaError_t given(void **data, size_t bytes, const char *how) {
  *data = klineage_allocate(bytes, how);
  return recorder().error = *data ? cudaSuccess : cudaErrorMemoryAllocation;
}
RUNTIME cudaMalloc(void **p, size_t n) { return given(p, n, "unset"); }
RUNTIME cudaMallocAsync(void **p, size_t n, cudaStream_t) { return given(p, n, "unset"); }
RUNTIME cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t, cudaStream_t) { return given(p, n, "unset"); }
RUNTIME cudaMallocManaged(void **p, size_t n, unsigned) { return given(p, n, "data"); }
RUNTIME cudaMallocHost(void **p, size_t n) { return given(p, n, "data"); }
RUNTIME cudaHostAlloc(void **p, size_t n, unsigned) { return given(p, n, "data"); }
RUNTIME cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return given(p, *pitch * height, "unset");
}
RUNTIME cudaMalloc3D(cudaPitchedPtr *p, cudaExtent e) {
  *p = {nullptr, (e.width + 511) / 512 * 512, e.width, e.height};
  return given(&p->ptr, p->pitch * e.height * e.depth, "unset");
}
RUNTIME cudaFree(void *p) { return give_back(p), cudaSuccess; }
RUNTIME cudaFreeAsync(void *p, cudaStream_t) { return give_back(p), cudaSuccess; }
RUNTIME cudaFreeHost(void *p) { return give_back(p), cudaSuccess; }
RUNTIME cudaHostGetDevicePointer(void **device, void *host, unsigned) { return *device = host, cudaSuccess; }
RUNTIME cudaHostRegister(void *p, size_t n, unsigned) {
  recorder().buffers[reinterpret_cast<uintptr_t>(p)] = {n, recorder().next++, "data", "", "", {}, {}};
  return cudaSuccess;
}
RUNTIME cudaHostUnregister(void *p) {
  recorder().buffers.erase(reinterpret_cast<uintptr_t>(p));
  return cudaSuccess;
}
static cudaError_t copied(void *to, const void *from, size_t n) {
  if (!to || !from || !holds(to, n) || !holds(from, n)) return recorder().error = cudaErrorInvalidValue;
  memmove(to, from, n);
  auto *source = buffer_at(from);
  becomes(to, source ? source->second.how : "data");
  return cudaSuccess;
}
static cudaError_t copied_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t w, size_t h) {
  cudaError_t status = cudaSuccess;
  for (size_t i = 0; i < h && status == cudaSuccess; ++i)
    status = copied(static_cast<char *>(to) + i * to_pitch, static_cast<const char *>(from) + i * from_pitch, w);
  return status;
}
RUNTIME cudaMemcpy(void *d, const void *s, size_t n, cudaMemcpyKind) { return copied(d, s, n); }
RUNTIME cudaMemcpyAsync(void *d, const void *s, size_t n, cudaMemcpyKind, cudaStream_t) { return copied(d, s, n); }
RUNTIME cudaMemcpyPeer(void *d, int, const void *s, int, size_t n) { return copied(d, s, n); }
RUNTIME cudaMemcpyPeerAsync(void *d, int, const void *s, int, size_t n, cudaStream_t) { return copied(d, s, n); }
RUNTIME cudaMemcpy2D(void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, cudaMemcpyKind) {
  return copied_rows(d, dp, s, sp, w, h);
}
RUNTIME cudaMemcpy2DAsync(void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, cudaMemcpyKind, cudaStream_t) {
  return copied_rows(d, dp, s, sp, w, h);
}
RUNTIME cudaMemcpyToSymbol(const void *d, const void *s, size_t n, size_t at, cudaMemcpyKind) {
  return copied(static_cast<char *>(const_cast<void *>(d)) + at, s, n);
}
RUNTIME cudaMemcpyToSymbolAsync(const void *d, const void *s, size_t n, size_t at, cudaMemcpyKind, cudaStream_t) {
  return copied(static_cast<char *>(const_cast<void *>(d)) + at, s, n);
}
RUNTIME cudaMemcpyFromSymbol(void *d, const void *s, size_t n, size_t at, cudaMemcpyKind) {
  return copied(d, static_cast<const char *>(s) + at, n);
}
RUNTIME cudaMemcpyFromSymbolAsync(void *d, const void *s, size_t n, size_t at, cudaMemcpyKind, cudaStream_t) {
  return copied(d, static_cast<const char *>(s) + at, n);
}
RUNTIME cudaGetSymbolAddress(void **p, const void *symbol) { return *p = const_cast<void *>(symbol), cudaSuccess; }
RUNTIME cudaGetSymbolSize(size_t *n, const void *symbol) {
  auto *buffer = buffer_at(symbol);
  return *n = buffer ? buffer->second.bytes : 0, cudaSuccess;
}
static cudaError_t filled(void *data, int value, size_t n) {
  if (!data || !holds(data, n)) return recorder().error = cudaErrorInvalidValue;
  memset(data, value, n);
  becomes(data, value ? "data" : "cleared");
  return cudaSuccess;
}
RUNTIME cudaMemset(void *d, int v, size_t n) { return filled(d, v, n); }
RUNTIME cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t) { return filled(d, v, n); }
RUNTIME cudaMemset2D(void *d, size_t pitch, int v, size_t w, size_t h) {
  for (size_t i = 0; i < h; ++i)
    if (filled(static_cast<char *>(d) + i * pitch, v, w) != cudaSuccess) return cudaErrorInvalidValue;
  return cudaSuccess;
}
RUNTIME cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p) {
  memset(a, 0, sizeof *a);
  if (buffer_at(p)) a->type = cudaMemoryTypeDevice, a->devicePointer = const_cast<void *>(p);
  return cudaSuccess;
}
RUNTIME cudaMemGetInfo(size_t *available, size_t *all) { return *available = *all = size_t(139) << 30, cudaSuccess; }

// The part of the runtime that tells of the device, and its streams, events and graphs. Part of cudart.cpp.
// The device that host code is told of: one of compute capability 9.0, with as many multiprocessors as asked for
static int multiprocessors() {
  const char *asked = getenv("KLINEAGE_SIZE_multiProcessorCount");
  return asked ? atoi(asked) : 132;
}
RUNTIME cudaGetDeviceCount(int *n) { return *n = 1, cudaSuccess; }
RUNTIME cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
RUNTIME cudaDriverGetVersion(int *v) { return *v = 13000, cudaSuccess; }
RUNTIME cudaRuntimeGetVersion(int *v) { return *v = 13000, cudaSuccess; }
RUNTIME cudaDeviceCanAccessPeer(int *can, int, int) { return *can = 0, cudaSuccess; }
RUNTIME cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, cudaSuccess; }
RUNTIME cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  memset(p, 0, sizeof *p);
  strcpy(p->name, "recorded device");
  p->major = 9, p->minor = 0, p->multiProcessorCount = multiprocessors(), p->warpSize = 32;
  p->totalGlobalMem = size_t(139) << 30, p->totalConstMem = 65536, p->l2CacheSize = 50 << 20, p->memoryBusWidth = 6016;
  p->sharedMemPerBlock = 49152, p->sharedMemPerBlockOptin = 232448, p->sharedMemPerMultiprocessor = 233472;
  p->reservedSharedMemPerBlock = 1024, p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048, p->maxBlocksPerMultiProcessor = 32;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->managedMemory = p->concurrentManagedAccess = p->unifiedAddressing = p->concurrentKernels = p->cooperativeLaunch = 1;
  p->canMapHostMemory = p->memoryPoolsSupported = p->streamPrioritiesSupported = p->pageableMemoryAccess = 1;
  p->hostNativeAtomicSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->asyncEngineCount = 3, p->textureAlignment = p->surfaceAlignment = 512, p->texturePitchAlignment = 32;
  return cudaSuccess;
}
RUNTIME cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  static const std::map<int, int> known = {
      {cudaDevAttrMaxThreadsPerBlock, 1024}, {cudaDevAttrMaxBlockDimX, 1024}, {cudaDevAttrMaxBlockDimY, 1024},
      {cudaDevAttrMaxBlockDimZ, 64}, {cudaDevAttrMaxGridDimX, 2147483647}, {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535}, {cudaDevAttrMaxSharedMemoryPerBlock, 49152}, {cudaDevAttrWarpSize, 32},
      {cudaDevAttrTotalConstantMemory, 65536}, {cudaDevAttrMaxRegistersPerBlock, 65536}, {cudaDevAttrClockRate, 1980000},
      {cudaDevAttrConcurrentKernels, 1}, {cudaDevAttrMemoryClockRate, 3201000}, {cudaDevAttrGlobalMemoryBusWidth, 6016},
      {cudaDevAttrL2CacheSize, 50 << 20}, {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrUnifiedAddressing, 1}, {cudaDevAttrComputeCapabilityMajor, 9}, {cudaDevAttrComputeCapabilityMinor, 0},
      {cudaDevAttrStreamPrioritiesSupported, 1}, {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
      {cudaDevAttrMaxRegistersPerMultiprocessor, 65536}, {cudaDevAttrManagedMemory, 1},
      {cudaDevAttrConcurrentManagedAccess, 1}, {cudaDevAttrCooperativeLaunch, 1}, {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448}, {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
      {cudaDevAttrReservedSharedMemoryPerBlock, 1024}, {cudaDevAttrMemoryPoolsSupported, 1},
      {cudaDevAttrPageableMemoryAccess, 1}, {cudaDevAttrClusterLaunch, 1}, {cudaDevAttrTextureAlignment, 512}};
  auto place = known.find(attribute);
  *value = attribute == cudaDevAttrMultiProcessorCount ? multiprocessors() : place == known.end() ? 0 : place->second;
  return cudaSuccess;
}
RUNTIME cudaFuncGetAttributes(cudaFuncAttributes *a, const void *) {
  memset(a, 0, sizeof *a);
  a->maxThreadsPerBlock = 1024, a->numRegs = 32, a->binaryVersion = a->ptxVersion = 90;
  a->maxDynamicSharedSizeBytes = 232448;
  return cudaSuccess;
}
RUNTIME cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *, int block, size_t shared, unsigned) {
  int by_shared = shared ? static_cast<int>(232448 / shared) : 32;
  return *n = std::max(1, std::min({2048 / std::max(block, 1), by_shared, 32})), cudaSuccess;
}
RUNTIME cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int block, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, f, block, shared, 0);
}

// Streams, events, graphs: one handle stands for all of them
static int handle;
template <class T> static cudaError_t handed(T *to) { return *to = reinterpret_cast<T>(&handle), cudaSuccess; }
RUNTIME cudaStreamCreate(cudaStream_t *s) { return handed(s); }
RUNTIME cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return handed(s); }
RUNTIME cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) { return handed(s); }
RUNTIME cudaEventCreate(cudaEvent_t *e) { return handed(e); }
RUNTIME cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return handed(e); }
RUNTIME cudaGraphCreate(cudaGraph_t *g, unsigned) { return handed(g); }
RUNTIME cudaStreamEndCapture(cudaStream_t, cudaGraph_t *g) { return handed(g); }
RUNTIME cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { return *ms = 1.0f, cudaSuccess; }
RUNTIME cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *s) {
  return *s = cudaStreamCaptureStatusNone, cudaSuccess;
}

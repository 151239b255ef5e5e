/* A stub of libcuda.so.1 for hosts without a driver, for tests only: NIXL's LIBFABRIC plugin is
   linked with these three functions. Each answers CUDA_ERROR_NO_DEVICE. */

enum { NO_DEVICE = 100 };

int cuCtxSetCurrent(void *context) { return NO_DEVICE; }

int cuDeviceGetPCIBusId(char *id, int length, int device) { return NO_DEVICE; }

int cuPointerGetAttributes(unsigned count, int *attributes, void **data, unsigned long long at)
{
    return NO_DEVICE;
}

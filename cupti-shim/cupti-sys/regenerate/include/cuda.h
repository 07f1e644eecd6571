/* Just enough of a driver API for the declarations of CUPTI to parse. Our own text: handles are opaque pointers and no
 * layout that we use depends on what is behind them. */
#ifndef GPUPROF_STUB_CUDA_H
#define GPUPROF_STUB_CUDA_H
#include <stdint.h>
#include <stddef.h>
#define CUDAAPI
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUlogicalEndpoint_st *CUlogicalEndpoint;
typedef unsigned long long CUlogicalEndpointId;
typedef int CUdevice_attribute;
typedef int CUgraphNodeType;
typedef int CUresult;
typedef int CUaccessProperty;
typedef int CUstreamAttrID;
typedef union { char bytes[64]; } CUstreamAttrValue;
typedef struct { char bytes[16]; } CUuuid;
typedef struct { void *base_ptr; size_t num_bytes; float hitRatio; CUaccessProperty hitProp, missProp; } CUaccessPolicyWindow;
#endif

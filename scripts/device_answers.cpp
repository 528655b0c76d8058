// ggml's own supports_op and allocation sizes of several GPU backends, callable on a machine without such a GPU.
//
// `record_device_answers.py` cuts the functions out of ggml's source, writes them to extracted.inc and compiles this
// file around them. What the functions ask of a device or a driver are plain fields here; their base functions
// (ggml_is_contiguous, ggml_type_size, ...) come from the library that is loaded beside it.

#include "ggml.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "ggml-metal/ggml-metal-impl.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#define UNUSED GGML_UNUSED
#define VK_LOG_DEBUG(x)
#define VK_VENDOR_ID_INTEL 0x8086
#define GGML_CUDA_CC_ADA_LOVELACE 890
#define GGML_CUDA_CC_IS_NVIDIA(cc) true
#define GGML_CUDA_USE_CUB
#define FLASH_ATTN_AVAILABLE
#define FATTN_KQ_STRIDE 256
#define MATRIX_ROW_PADDING 512
#define QK_K 256
#define __host__
#define __device__

// Metal
struct metal_device {
    struct {
        bool has_simdgroup_mm, has_simdgroup_reduction, has_bfloat;
        size_t max_theadgroup_memory_size;
    } props;
};
typedef metal_device * ggml_metal_device_t;
static metal_device METAL;

// Vulkan
namespace vk {
enum class DriverId { eIntelProprietaryWindows };
}
struct vulkan_device {
    bool shader_int64, buffer_device_address, shader_64b_indexing;
    uint64_t max_buffer_size;
    struct {
        struct {
            uint32_t maxStorageBufferRange, maxComputeSharedMemorySize, minStorageBufferOffsetAlignment;
        } limits;
    } properties;
    bool mul_mat_id_s[GGML_TYPE_COUNT], mul_mat_id_m[GGML_TYPE_COUNT], mul_mat_id_l[GGML_TYPE_COUNT];
    bool coopmat2, coopmat_support, fp16, vulkan_memory_model;
    bool subgroup_shuffle, subgroup_vote, subgroup_basic, subgroup_arithmetic, subgroup_require_full_support;
    void *pipeline_topk_f32[11], *pipeline_topk_radix_f32, *pipeline_dsv4_hc_comb_f32;
    uint32_t max_workgroup_size_log2, subgroup_size_log2, subgroup_size, vendor_id;
    vk::DriverId driver_id;
};
typedef vulkan_device * vk_device;
static vulkan_device VULKAN;
static vk_device VULKAN_POINTER = &VULKAN;
struct ggml_backend_vk_device_context {
    size_t device;
};
static const vk_device & ggml_vk_get_device(size_t) { return VULKAN_POINTER; }
static const uint32_t num_argsort_pipelines = 11, num_topk_pipelines = 11;
static uint64_t vk_tensor_offset(const ggml_tensor *) { return 0; }

// CUDA
struct cuda_device {
    int cc;
};
struct cuda_devices {
    cuda_device devices[1];
};
static cuda_devices CUDA;
static cuda_devices & ggml_cuda_info() { return CUDA; }
struct ggml_backend_cuda_device_context {
    int device;
};
struct ggml_backend_cuda_buffer_type_context {
    int device;
};
static bool ggml_backend_buft_is_cuda(ggml_backend_buffer_type_t) { return false; }
static bool turing_mma_available(int cc) { return cc >= 750; }
static bool volta_mma_available(int cc) { return cc >= 700 && cc < 750; }
static bool amd_mfma_available(int) { return false; }
static bool amd_wmma_available(int) { return false; }
// A default build: GGML_CUDA_FA_QUANTS "q4_0-q4_0;q8_0-q8_0;f16-f16;bf16-bf16".
static const void * ggml_cuda_get_fattn_vec_case(int64_t head, ggml_type k, ggml_type v) {
    k = k == GGML_TYPE_F32 ? GGML_TYPE_F16 : k;
    v = v == GGML_TYPE_F32 ? GGML_TYPE_F16 : v;
    const bool pair = k == GGML_TYPE_F16 || k == GGML_TYPE_BF16 || k == GGML_TYPE_Q4_0 || k == GGML_TYPE_Q8_0;
    return (head == 64 || head == 128 || head == 256) && k == v && pair ? &CUDA : nullptr;
}

#include "extracted.inc"

enum { METAL_OP, VULKAN_OP, BLAS_OP, CUDA_OP, METAL_SIZE, CUDA_SIZE };

// words: 11 tensors (the op, then its sources), each: present, type, op, ne[4], nb[4], storage (-1 for its own, else
// the number of the tensor it views, 11 for some other one), offset, op_params[16].
extern "C" int64_t ask(int what, const int64_t * words, const int64_t * limits) {
    static ggml_tensor all[12];
    memset(all, 0, sizeof all);
    for (int i = 0; i < 11; i++, words += 29) {
        if (!words[0]) {
            continue;
        }
        ggml_tensor & one = all[i];
        one.type = (ggml_type) words[1];
        one.op = (ggml_op) words[2];
        for (int k = 0; k < 4; k++) {
            one.ne[k] = words[3 + k];
            one.nb[k] = words[7 + k];
        }
        if (words[11] >= 0) {
            one.view_src = &all[words[11]];
            one.view_offs = words[12];
        }
        for (int k = 0; k < 16; k++) {
            one.op_params[k] = (int32_t) words[13 + k];
        }
        if (i) {
            all[0].src[i - 1] = &one;
        }
    }
    const int64_t * n = limits;
    METAL = {{n[0] != 0, n[1] != 0, n[2] != 0, (size_t) n[3]}};
    CUDA.devices[0].cc = (int) n[4];
    vulkan_device & v = VULKAN;
    v.properties.limits.minStorageBufferOffsetAlignment = n[5];
    v.max_buffer_size = n[6];
    v.properties.limits.maxStorageBufferRange = n[7];
    v.shader_64b_indexing = n[8];
    v.shader_int64 = v.buffer_device_address = n[9];
    v.properties.limits.maxComputeSharedMemorySize = n[10];
    v.max_workgroup_size_log2 = uint32_t(log2f(float(n[11])));
    v.subgroup_size = n[12];
    v.subgroup_size_log2 = uint32_t(log2f(float(n[12])));
    v.subgroup_basic = n[13];
    v.subgroup_arithmetic = n[14];
    v.subgroup_shuffle = n[15];
    v.subgroup_vote = n[16];
    v.subgroup_require_full_support = n[17];
    v.vulkan_memory_model = n[18];
    v.fp16 = n[19];
    v.coopmat2 = n[20];
    v.pipeline_topk_radix_f32 = &v;
    const bool lanes = v.subgroup_basic && v.subgroup_shuffle && v.subgroup_require_full_support;
    v.pipeline_dsv4_hc_comb_f32 = lanes && v.subgroup_size >= 16 ? &v : nullptr;
    const uint32_t wide = std::max(v.subgroup_size, 32u), narrow = std::max(v.subgroup_size, 8u);
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const std::vector<uint32_t> smallest = {wide, 32, 32, 32, 32, 32, 2, 2, 2, 1, narrow}; // s_warptile_mmqid
        v.mul_mat_id_s[i] = ggml_vk_matmul_shmem_support(VULKAN_POINTER, smallest, true, (ggml_type) i);
    }
    switch (what) {
        case METAL_OP: return ggml_metal_device_supports_op(&METAL, &all[0]);
        case VULKAN_OP: return ggml_backend_vk_device_supports_op(nullptr, &all[0]);
        case BLAS_OP: return ggml_backend_blas_device_supports_op(nullptr, &all[0]);
        case CUDA_OP: return ggml_backend_cuda_device_supports_op(nullptr, &all[0]);
        case METAL_SIZE: return ggml_backend_metal_buffer_type_get_alloc_size(nullptr, &all[0]);
        case CUDA_SIZE: return ggml_backend_cuda_buffer_type_get_alloc_size(nullptr, &all[0]);
    }
    return -1;
}

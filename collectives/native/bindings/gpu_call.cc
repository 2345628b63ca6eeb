// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/bindings/gpu_call.h"

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "collectives/native/bindings/array.h"

namespace nb = nanobind;

namespace railgauge {

namespace {

constexpr int kCudaDevice = 2;  // kDLCUDA

// DLPackExchangeAPI of dlpack.h 1.3, by its layout.
struct ExchangeApi {
  std::uint32_t major, minor;
  const ExchangeApi* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*tensor_from_object)(void* object, nb::dlpack::dltensor* out);  // may be null
  int (*current_work_stream)(int device_type, std::int32_t device, void** out);
};

// That of an array's type; null: it has none that is known here.
const ExchangeApi* api_of(nb::handle array) {
  static std::unordered_map<PyTypeObject*, const ExchangeApi*> known;  // under the GIL
  PyTypeObject* type = Py_TYPE(array.ptr());
  if (auto found = known.find(type); found != known.end()) return found->second;
  const ExchangeApi* api = nullptr;
  nb::object capsule = nb::getattr(nb::handle(reinterpret_cast<PyObject*>(type)),
                                   "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    api =
        static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  }
  while (api && api->major != 1) api = api->previous;
  if (api && !api->tensor_from_object) api = nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(type));  // it and its capsule stay
  capsule.release();
  known.emplace(type, api);
  return api;
}

struct GpuTensor {
  const ExchangeApi* api;
  int device;
  std::byte* data;
  Dtype dtype;
  std::size_t count;
};

bool is_contiguous(const nb::dlpack::dltensor& tensor) {
  std::int64_t expected = 1;
  for (int i = tensor.ndim; tensor.strides && i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

// A contiguous tensor on a GPU; nothing: it is none.
std::optional<GpuTensor> tensor_of(nb::handle array) {
  const ExchangeApi* api = api_of(array);
  if (!api) return std::nullopt;
  nb::dlpack::dltensor tensor;
  if (api->tensor_from_object(array.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto dtype = dtype_of_dlpack(tensor.dtype.code, tensor.dtype.bits * tensor.dtype.lanes);
  if (tensor.device.device_type != kCudaDevice || !dtype || static_cast<int>(*dtype) >= kDtypes ||
      !is_contiguous(tensor)) {
    return std::nullopt;
  }
  std::size_t count = 1;
  for (int i = 0; i < tensor.ndim; ++i) count *= static_cast<std::size_t>(tensor.shape[i]);
  return GpuTensor{api, tensor.device.device_id,
                   static_cast<std::byte*>(tensor.data) + tensor.byte_offset, *dtype, count};
}

// The stream on which a tensor's library works on this thread; nothing: it does not say.
std::optional<void*> stream_of(const GpuTensor& tensor) {
  void* stream = nullptr;
  if (tensor.api->current_work_stream(kCudaDevice, tensor.device, &stream) == 0) return stream;
  PyErr_Clear();
  return std::nullopt;
}

bool overlap(const GpuTensor& one, const GpuTensor& other) {
  const std::size_t element = dtype_bytes(one.dtype);
  return one.data < other.data + other.count * element &&
         other.data < one.data + one.count * element;
}

struct Asked {
  Operation operation;
  cuda::Stream stream;  // on which the tensors' library works
};

// A call that is right; nothing: the engine does not take it as it is.
std::optional<Asked> asked(const gpu::Engine& engine, int collective, nb::handle source,
                           nb::handle destination, int op, int root) {
  const int rank = engine.rank(), ranks = engine.ranks();
  if (collective < 0 || collective >= kCollectives || op < 0 || op >= kRedops || root < 0 ||
      root >= ranks) {
    return std::nullopt;
  }
  const auto from = tensor_of(source);
  if (!from || from->device != engine.device()) return std::nullopt;
  const auto to = source.is(destination) ? from : tensor_of(destination);
  if (!to || to->device != from->device || to->dtype != from->dtype) return std::nullopt;
  Operation operation{static_cast<Collective>(collective),
                      from->data,
                      to->data,
                      1,
                      from->dtype,
                      static_cast<Redop>(op),
                      root};
  const Extent one = operation.extent(rank, ranks);
  operation.count = one.destination ? to->count / one.destination : from->count / one.source;
  const Extent need = operation.extent(rank, ranks);
  if ((one.source && from->count != need.source) ||
      (one.destination && to->count != need.destination)) {
    return std::nullopt;
  }
  if (need.source && need.destination && overlap(*from, *to) &&
      !(operation.runs_in_place() && operation.is_in_place(rank, ranks))) {
    return std::nullopt;
  }
  const auto stream = stream_of(*from);
  if (!stream) return std::nullopt;
  return Asked{operation, static_cast<cuda::Stream>(*stream)};
}

}  // namespace

bool call_on_gpu(gpu::Engine& engine, int collective, nb::handle source, nb::handle destination,
                 int op, int root) {
  const auto call = asked(engine, collective, source, destination, op, root);
  if (!call) return false;
  nb::gil_scoped_release release;  // a full stream makes its caller wait
  engine.run(call->operation, call->stream, engine.choices().due(call->operation));
  return true;
}

std::unique_ptr<cuda::Mark> call_on_gpu_aside(gpu::Engine& engine, int collective,
                                              nb::handle source, nb::handle destination, int op,
                                              int root, std::uintptr_t aside) {
  const auto call = asked(engine, collective, source, destination, op, root);
  if (!call) return nullptr;
  nb::gil_scoped_release release;
  return engine.run_aside(call->operation, call->stream, reinterpret_cast<cuda::Stream>(aside),
                          engine.choices().due(call->operation));
}

std::optional<std::tuple<std::uintptr_t, std::size_t, int, int>> read_gpu_tensor(nb::handle array) {
  const auto tensor = tensor_of(array);
  if (!tensor) return std::nullopt;
  return std::tuple(reinterpret_cast<std::uintptr_t>(tensor->data), tensor->count,
                    static_cast<int>(tensor->dtype), tensor->device);
}

std::optional<std::uintptr_t> stream_of_gpu_tensor(nb::handle array) {
  const auto tensor = tensor_of(array);
  const auto stream = tensor ? stream_of(*tensor) : std::nullopt;
  if (!stream) return std::nullopt;
  return reinterpret_cast<std::uintptr_t>(*stream);
}

}  // namespace railgauge

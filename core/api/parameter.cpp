// Parameters of a pipe by number and name: values and gradients, to and from host memory.
#include <algorithm>
#include <cstddef>

#include "api/call.hpp"
#include "api/handle.hpp"
#include "base/dtype.hpp"

using namespace switchyard;
using namespace switchyard::api;

namespace {

const Parameter& parameter_of(sy_pipe* pipe, uint32_t index) {
  const auto& all = alive(pipe).session->model().parameters();
  if (index >= all.size())
    throw Error(SY_E_RANGE, "parameter " + std::to_string(index) + " of " + std::to_string(all.size()));
  return all[index];
}

TensorName value_of(const Parameter& p) { return {p.index, -1}; }

uint64_t bytes_of(sy_pipe* pipe, const Parameter& p) {
  return static_cast<uint64_t>(p.count()) * dtype_bytes(pipe->session->pipe().stored_dtype(value_of(p)));
}

void check_bytes(sy_pipe* pipe, const Parameter& p, uint64_t bytes) {
  if (bytes != bytes_of(pipe, p))
    throw Error(SY_E_ARGUMENT,
                "'" + p.name + "' takes " + std::to_string(bytes_of(pipe, p)) + " bytes, not " + std::to_string(bytes));
}

sy_parameter describe(sy_pipe* pipe, const Parameter& p) {
  sy_parameter out{};
  out.kind = p.kind;
  out.trainable = p.trainable;
  out.owner = p.owner;
  out.device =
      pipe->session->plan().device_of_layer(p.is_tied() ? pipe->session->model().parameters()[p.owner].layer : p.layer);
  out.dtype = pipe->session->pipe().stored_dtype(value_of(p));
  out.ndim = static_cast<int32_t>(p.shape.size());
  std::copy(p.shape.begin(), p.shape.end(), out.shape);
  out.bytes = bytes_of(pipe, p);
  out.name = p.name.c_str();
  return out;
}

}  // namespace

sy_rc sy_pipe_parameter_count(sy_pipe* pipe, uint32_t* count, sy_error** err) {
  return guard(err, [&] {
    const auto& all = alive(pipe).session->model().parameters();
    *need(count, "count") = static_cast<uint32_t>(all.size());
  });
}

sy_rc sy_pipe_parameter(sy_pipe* pipe, uint32_t index, sy_parameter* out, sy_error** err) {
  return guard(err, [&] {
    const Parameter& p = parameter_of(pipe, index);
    check_struct(need(out, "out"), "out");
    fill_struct(out, describe(pipe, p));
  });
}

sy_rc sy_pipe_find(sy_pipe* pipe, const char* name, uint32_t* index, sy_error** err) {
  return guard(err, [&] {
    const auto& all = alive(pipe).session->model().parameters();
    const std::string wanted = need(name, "name");
    need(index, "index");
    const auto found = std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == wanted; });
    if (found == all.end()) throw Error(SY_E_NOT_FOUND, "no parameter is called '" + wanted + "'");
    *index = static_cast<uint32_t>(found - all.begin());
  });
}

sy_rc sy_pipe_read(sy_pipe* pipe, uint32_t index, void* to, uint64_t bytes, sy_error** err) {
  return guard(err, [&] {
    const Parameter& p = parameter_of(pipe, index);
    check_bytes(pipe, p, bytes);
    pipe->session->pipe().read(value_of(p), {static_cast<std::byte*>(need(to, "to")), bytes});
  });
}

sy_rc sy_pipe_write(sy_pipe* pipe, uint32_t index, const void* from, uint64_t bytes, sy_error** err) {
  return guard(err, [&] {
    const Parameter& p = parameter_of(pipe, index);
    check_bytes(pipe, p, bytes);
    pipe->session->pipe().write(value_of(p), {static_cast<const std::byte*>(need(from, "from")), bytes});
    pipe->session->pipe().values_changed();
  });
}

sy_rc sy_pipe_read_gradient(sy_pipe* pipe, uint32_t index, float* to, uint64_t count, sy_error** err) {
  return guard(err, [&] {
    const Parameter& p = parameter_of(pipe, index);
    if (!p.trainable) throw Error(SY_E_STATE, "'" + p.name + "' is not trained, it has no gradient");
    if (count != static_cast<uint64_t>(p.count()))
      throw Error(SY_E_ARGUMENT,
                  "'" + p.name + "' has " + std::to_string(p.count()) + " elements, not " + std::to_string(count));
    pipe->session->pipe().read_gradient(p.index, {need(to, "to"), count});
  });
}

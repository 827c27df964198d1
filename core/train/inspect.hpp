// Every tensor of a configuration, a run or a file: name, shape, type, device, whose alias, hash of its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

struct Subject;

struct TensorRow {
  std::string name;
  std::vector<std::int64_t> shape;
  sy_dtype dtype{};  // as stored: what a checkpoint holds, or the file
  std::string kind;  // "weight", "buffer"; "tensor" in a file without a configuration
  bool trainable = false;
  std::string device;    // "" for a file
  std::string alias_of;  // a tied weight: whose value it is; "" otherwise
  std::string sha256;    // of its bytes, row-major and little endian, in lower-case digits; of the owner's for an alias
};

struct DeviceRow {
  std::string device;
  std::int64_t parameters = 0;  // elements of weights that lie there, copies of tied ones included
};

struct Inventory {
  std::vector<TensorRow> tensors;  // in the order of the model, or of the file
  std::vector<DeviceRow> devices;
  std::int64_t parameters = 0;  // elements of weights, each tied table once
  std::int64_t trainable = 0;   // of them
  std::int64_t buffers = 0;     // elements
  std::int64_t bytes = 0;       // as stored, aliases not counted
  std::string sha256;           // over "NAME SHA256\n" of every tensor that is no alias, sorted by name
};

/// `path`: a configuration (its first weights, or those of [model] weights), a run (its checkpoint, with the devices of
/// its own configuration), or a safetensors file. No device is touched. `registry`: nothing: one is opened from the
/// configuration. Errors: those of open_subject, Model::create, make_plan. [ctl]
Inventory inspect(const std::string& path, const std::vector<std::string>& sets = {}, Registry* registry = nullptr);
/// The same for a configuration or run that is open already.
Inventory inspect(const Subject& subject, Registry& registry);

/// {"tensors":[{"name":...,"shape":[...],"dtype":"fp32","kind":"weight","trainable":true,"device":"cpu:0","alias_of":...,
/// "sha256":...}],"devices":[{"device":"cpu:0","parameters":1}],"parameters":1,"trainable":1,"buffers":0,"bytes":4,
/// "sha256":...}; alias_of and device are absent where there are none.
std::string inventory_json(const Inventory& inventory);
/// The same as a table for people.
std::string inventory_text(const Inventory& inventory);

}  // namespace switchyard

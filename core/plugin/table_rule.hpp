// What the tables of each kind must hold: their size in the first release, their slots, and which of those may be
// empty.
#pragma once

#include <cstddef>
#include <span>

namespace switchyard {

using AnyFunction = void (*)();

/// A function pointer of a table.
struct SlotRule {
  const char* name;
  std::size_t offset;
  AnyFunction stub;  // what an empty optional slot is filled with; NULL: mandatory
};

struct TableRule {
  std::size_t first_size;  // of the first release
  std::size_t full_size;   // as this core knows it
  std::span<const SlotRule> slots;
  /// What only the table's own type can tell: options, and slots that a capability promises. `table` is full-size, its
  /// slots are not filled yet. Throws Error(SY_E_ABI).
  void (*check)(const void* table);
};

const TableRule& layer_rule();
const TableRule& policy_rule();
const TableRule& schedule_rule();
const TableRule& optimizer_rule();
const TableRule& backend_rule();
const TableRule& comm_rule();

}  // namespace switchyard

#include "plugin/code_name.hpp"

// name, text
#define SWITCHYARD_CODES(X)                                         \
  X(SY_OK, "done")                                                  \
  X(SY_E_CANCELLED, "asked to stop")                                \
  X(SY_E_UNKNOWN, "an exception of unknown type")                   \
  X(SY_E_ARGUMENT, "an argument is wrong")                          \
  X(SY_E_TIMEOUT, "it took too long")                               \
  X(SY_E_NOT_FOUND, "not found")                                    \
  X(SY_E_EXISTS, "it is there already")                             \
  X(SY_E_DENIED, "not allowed")                                     \
  X(SY_E_NO_MEMORY, "out of memory")                                \
  X(SY_E_STATE, "not possible now")                                 \
  X(SY_E_ABORTED, "another stage failed first")                     \
  X(SY_E_RANGE, "past the end, or too little room")                 \
  X(SY_E_UNIMPLEMENTED, "not offered")                              \
  X(SY_E_INTERNAL, "a mistake in the program")                      \
  X(SY_E_UNAVAILABLE, "not available here")                         \
  X(SY_E_DATA, "the data is wrong")                                 \
  X(SY_E_ABI, "plugin and core do not fit together")                \
  X(SY_E_CONFIG, "the configuration is wrong")                      \
  X(SY_E_INFEASIBLE, "nothing fits the budgets")                    \
  X(SY_E_DEVICE, "the device stopped working")                      \
  X(SY_E_COMM, "the communication between devices stopped working") \
  X(SY_E_AGAIN, "not ready yet")

namespace switchyard {

const char* code_name(sy_rc code) {
  switch (code) {
#define X(name, text) \
  case name:          \
    return #name;
    SWITCHYARD_CODES(X)
#undef X
  }
  return nullptr;
}

const char* code_text(sy_rc code) {
  switch (code) {
#define X(name, text) \
  case name:          \
    return text;
    SWITCHYARD_CODES(X)
#undef X
  }
  return nullptr;
}

}  // namespace switchyard

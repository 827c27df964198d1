// Where a figure that a plan counts with comes from.
#pragma once

namespace switchyard {

/// The better known, the later.
enum class Basis {
  assumed,    // nothing is known
  reported,   // a backend says so about a device that is here
  described,  // devices.machine says so
  measured    // timed on the devices themselves
};

inline const char* basis_name(Basis basis) {
  switch (basis) {
    case Basis::assumed:
      return "assumed";
    case Basis::reported:
      return "reported";
    case Basis::described:
      return "described";
    case Basis::measured:
      return "measured";
  }
  return "";
}

}  // namespace switchyard

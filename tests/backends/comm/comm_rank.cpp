// A process that is one rank: comm_rank COMM BACKEND DEVICE RANK RANKS FOLDER. RANK and RANKS "mpi": as mpirun says.
// Exit code 1: something is not as it must be.
#include <cstdio>
#include <cstdlib>

#include "cases.hpp"

namespace {

int number(const char* text, const char* variable) {
  if (std::string(text) != "mpi") return std::atoi(text);
  const char* value = std::getenv(variable);
  return value ? std::atoi(value) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  comm_test::Place place{argv[1],
                         argv[2],
                         std::atoi(argv[3]),
                         number(argv[4], "OMPI_COMM_WORLD_RANK"),
                         number(argv[5], "OMPI_COMM_WORLD_SIZE"),
                         argv[6]};
  const std::vector<std::string> wrong = comm_test::run_cases(place);
  for (const std::string& w : wrong) std::printf("FAILED: %s\n", w.c_str());
  return wrong.empty() ? 0 : 1;
}

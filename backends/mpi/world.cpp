#include "world.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "switchyard/cpp/plugin.hpp"

namespace sy::mpi {
namespace {

using namespace std::chrono_literals;

/// Where no launcher is, MPI_Init would end the process rather than fail.
bool has_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD"})
    if (std::getenv(name)) return true;
  return false;
}

/// A process that failed leaves without it, by which the launcher notices and ends the others.
void end_with_process(int exit_code, void*) {
  int ended = 0;
  if (exit_code == 0 && MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Finalize();
}

int start_mpi() {
  int running = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&running);
  if (running) {
    MPI_Query_thread(&level);
    return level;
  }
  if (!has_launcher())
    throw fault(SY_E_UNAVAILABLE, "mpi: this process was not started by mpirun or another launcher of MPI");
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
    throw fault(SY_E_UNAVAILABLE, "mpi: it could not be started");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  on_exit(end_with_process, nullptr);
  return level;
}

World look_around() {
  if (start_mpi() != MPI_THREAD_MULTIPLE)
    throw fault(SY_E_UNAVAILABLE,
                "mpi: this MPI, or the way in which the application started it, does not serve several threads");
  World w;
  must(MPI_Comm_rank(MPI_COMM_WORLD, &w.process), "asking for the process");
  must(MPI_Comm_size(MPI_COMM_WORLD, &w.processes), "asking for the processes");
  int* largest = nullptr;
  int known = 0;
  must(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &known), "asking for the largest tag");
  if (known) w.largest_tag = *largest;
  return w;
}

}  // namespace

const World& world() {
  static const World found = look_around();
  return found;
}

void must(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw fault(SY_E_COMM, std::string("mpi: ") + what + ": " + text);
}

Messages::~Messages() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    int done = 0;
    if (receives_[i]) MPI_Cancel(&requests_[i]);
    // A receive that has met its message cannot be taken back, and writes as it comes in: it is given time.
    for (int tries = 0; receives_[i] && !done && tries < 1000; ++tries) {
      MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (!done) std::this_thread::sleep_for(1ms);
    }
    if (requests_[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests_[i]);
  }
}

/// MPI counts in int.
template <class Start>
void Messages::in_pieces(int64_t bytes, Start&& start) {
  constexpr int64_t most = int64_t{1} << 30;
  for (int64_t at = 0; at < bytes; at += most) {
    MPI_Request request = MPI_REQUEST_NULL;
    start(at, static_cast<int>(std::min(most, bytes - at)), &request);
    requests_.push_back(request);
  }
}

void Messages::send(const void* from, int64_t bytes, int to_process) {
  in_pieces(bytes, [&](int64_t at, int size, MPI_Request* request) {
    must(MPI_Isend(static_cast<const char*>(from) + at, size, MPI_BYTE, to_process, tag_, MPI_COMM_WORLD, request),
         "sending");
  });
  receives_.resize(requests_.size(), false);
}

void Messages::receive(void* to, int64_t bytes, int from_process) {
  in_pieces(bytes, [&](int64_t at, int size, MPI_Request* request) {
    must(MPI_Irecv(static_cast<char*>(to) + at, size, MPI_BYTE, from_process, tag_, MPI_COMM_WORLD, request),
         "receiving");
  });
  receives_.resize(requests_.size(), true);
}

bool Messages::done() {
  int all = 0;
  must(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE), "communicating");
  return all != 0;
}

void Messages::wait(const std::atomic<bool>& aborted) {
  for (int tries = 0; !done(); ++tries) {
    if (aborted) throw fault(SY_E_ABORTED, "mpi: the communicator was aborted");
    if (tries < 200)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(50us);
  }
}

}  // namespace sy::mpi

#include "machine/links.hpp"

#include "switchyard/base.h"

namespace switchyard {

Links::Links(std::vector<Seat> seats, LinkClass within, LinkClass between, bool peer)
    : seats_(std::move(seats)), within_(std::move(within)), between_(std::move(between)), peer_(peer) {}

const char* Links::path(const Seat& from, const Seat& to) const {
  if (from.host != to.host) return "network";
  if (from.type != to.type) return "host";
  if (from.type == SY_DEVICE_CPU) return "memory";
  return peer_ ? "peer" : "host";
}

void Links::set_measured(std::vector<int> kinds, std::map<std::pair<int, int>, Figures> figures) {
  kinds_ = std::move(kinds);
  measured_ = std::move(figures);
}

Link Links::between(int from, int to) const {
  Link link;
  link.path = from == to ? "none" : path(seats_[from], seats_[to]);
  if (from == to) return link;
  if (!kinds_.empty())
    if (const auto found = measured_.find({kinds_[from], kinds_[to]}); found != measured_.end())
      return {found->second.bytes_per_s, found->second.latency_s, link.path, Basis::measured};
  const Seat &a = seats_[from], &b = seats_[to];
  const bool one_host = a.host == b.host;
  const LinkClass& figures = one_host ? within_ : between_;
  if (!figures.bytes_per_s.known()) return link;
  link.bytes_per_s = one_host ? figures.bytes_per_s.at(a.slot, b.slot) : figures.bytes_per_s.at(a.host, b.host);
  link.latency_s = one_host ? figures.latency_s.at(a.slot, b.slot) : figures.latency_s.at(a.host, b.host);
  link.basis = Basis::described;
  return link;
}

}  // namespace switchyard

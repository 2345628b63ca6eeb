// SPDX-License-Identifier: Apache-2.0
#include "transports/native/rank_host.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <set>
#include <sstream>

#include "transports/native/error.h"

namespace railgauge {

namespace {

constexpr char kMagic[] = "railgauge-rank-1";

std::string link_of(const char* path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path, target, sizeof target);
  return length < 0 ? path : std::string(target, static_cast<std::size_t>(length));
}

std::vector<int> own_cpus() {
  cpu_set_t allowed;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

RankHost RankHost::here() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return {boot + "/" + link_of("/proc/self/ns/pid") + "/" + link_of("/proc/self/ns/net"),
          own_cpus()};
}

std::string RankHost::packed() const {
  std::ostringstream text;
  text << kMagic << ' ' << id;
  for (int cpu : cpus) text << ' ' << cpu;
  return text.str();
}

RankHost RankHost::unpacked(const std::string& bytes) {
  std::istringstream text(bytes);
  std::string magic;
  RankHost host;
  if (!(text >> magic >> host.id) || magic != kMagic) {
    throw Error(
        ErrorCode::kMismatch,
        "a rank sent unexpected bytes: do all ranks have the same version of railgauge, and "
        "a rendezvous of their own?");
  }
  for (int cpu; text >> cpu;) host.cpus.push_back(cpu);
  return host;
}

std::vector<std::vector<int>> by_host(const std::vector<RankHost>& ranks) {
  std::vector<std::vector<int>> hosts;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    auto same = std::find_if(hosts.begin(), hosts.end(), [&](const std::vector<int>& host) {
      return ranks[host.front()].id == ranks[rank].id;
    });
    if (same == hosts.end()) same = hosts.insert(hosts.end(), std::vector<int>());
    same->push_back(rank);
  }
  return hosts;
}

bool is_crowded(const std::vector<RankHost>& ranks, const std::vector<int>& host) {
  std::set<int> cpus;
  for (int rank : host) cpus.insert(ranks[rank].cpus.begin(), ranks[rank].cpus.end());
  return host.size() > cpus.size();
}

}  // namespace railgauge

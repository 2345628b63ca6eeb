// SPDX-License-Identifier: Apache-2.0
// What a rank says of the host that it runs on, and which ranks share one.
#pragma once

#include <string>
#include <vector>

namespace railgauge {

struct RankHost {
  std::string id;         // equal for ranks that share memory
  std::vector<int> cpus;  // the cores that this process may use

  // Of the calling process: boot id, pid and network namespace (transports/peer.py has the same).
  static RankHost here();
  std::string packed() const;
  // Throws Error(kMismatch).
  static RankHost unpacked(const std::string& bytes);
};

// The ranks of each host, hosts in the order of their first ranks.
std::vector<std::vector<int>> by_host(const std::vector<RankHost>& ranks);
// Whether there are more ranks than cores for them.
bool is_crowded(const std::vector<RankHost>& ranks, const std::vector<int>& host);

}  // namespace railgauge

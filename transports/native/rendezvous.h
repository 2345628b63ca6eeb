// SPDX-License-Identifier: Apache-2.0
// How the ranks of a communicator find each other, as the program that uses it has it: over MPI, a
// key-value store, a file. Installed as <railgauge/rendezvous.h>; nothing else of a program has to
// be known to railgauge.
#pragma once

#include <string>
#include <vector>

namespace railgauge {

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // Gives every rank the bytes of all ranks, by rank: 100 to 1000 bytes for each connection that a
  // rank makes. All ranks call it equally often, from the constructor of a Communicator and from
  // its first collective of sends and receives. It is to throw after a timeout of its own; what it
  // throws passes through. A process that reads these bytes can connect as a rank.
  virtual std::vector<std::string> all_gather(const std::string& own) = 0;
};

}  // namespace railgauge

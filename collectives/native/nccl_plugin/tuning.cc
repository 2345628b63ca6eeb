// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl_plugin/tuning.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectives/native/nccl_plugin/json.h"
#include "collectives/native/nccl_plugin/tuner_abi.h"

namespace railgauge::nccl_plugin {
namespace {

constexpr std::size_t kMostTableBytes =
    32 << 20;                                // 1024 sizes with 40 settings of 9 turns have 18 MiB
constexpr std::uint64_t kMostChannels = 64;  // MAXCHANNELS of all releases

struct NumberedName {
  const char* name;
  std::int8_t number;
};
// Names of railgauge, numbers of NCCL.
constexpr NumberedName kCollectives[] = {{"broadcast", kBroadcast},
                                         {"reduce", kReduce},
                                         {"all_gather", kAllGather},
                                         {"reduce_scatter", kReduceScatter},
                                         {"all_reduce", kAllReduce}};
constexpr NumberedName kAlgorithms[] = {
    {"tree", kTree}, {"ring", kRing}, {"nvls", kNvls}, {"nvlstree", kNvlsTree}, {"pat", kPat}};
constexpr NumberedName kProtocols[] = {{"ll", kLl}, {"ll128", kLl128}, {"simple", kSimple}};

// Of a name that is not in the list.
constexpr std::int8_t kUnknown = -2;

template <std::size_t N>
std::int8_t numbered(const NumberedName (&names)[N], const char* name) {
  for (const NumberedName& one : names)
    if (!strcmp(one.name, name)) return one.number;
  return kUnknown;
}

// 2.28.9 as 22809; 0 if it is no release.
std::uint32_t version_of(const char* release) {
  unsigned major, minor, patch;
  int length = 0;
  const int got = sscanf(release, "%2u.%2u.%2u%n", &major, &minor, &patch, &length);
  return got == 3 && !release[length] ? major * 10000 + minor * 100 + patch : 0;
}

template <std::size_t N>
bool name_or_null(JsonReader& json, const NumberedName (&names)[N], std::int8_t* number) {
  char name[16];
  *number = -1;
  if (json.null()) return true;
  if (!json.text(name, sizeof name)) return false;
  *number = numbered(names, name);
  return true;
}

bool channels_or_null(JsonReader& json, std::uint8_t* channels) {
  std::uint64_t count = 0;
  if (!json.null() && (!json.number(&count) || count > kMostChannels)) return false;
  *channels = static_cast<std::uint8_t>(count);
  return true;
}

// A member of a row, or of a setting that is faster.
bool choice_member(JsonReader& json, const char* key, TunedChoice* choice) {
  if (!strcmp(key, "algorithm")) return name_or_null(json, kAlgorithms, &choice->algorithm);
  if (!strcmp(key, "protocol")) return name_or_null(json, kProtocols, &choice->protocol);
  if (!strcmp(key, "channels")) return channels_or_null(json, &choice->channels);
  return json.skip();
}

}  // namespace

const char* Tuning::load(const char* file, ChannelLimits limits) {
  snprintf(path, sizeof path, "%s", file);
  const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "it cannot be opened";
  struct stat about;
  const char* why = nullptr;
  if (fstat(fd, &about) || !S_ISREG(about.st_mode))
    why = "it is not a file";
  else if (static_cast<std::size_t>(about.st_size) > kMostTableBytes)
    why = "it is larger than 32 MiB";
  const std::size_t bytes = why ? 0 : about.st_size;
  char* text = static_cast<char*>(malloc(bytes + 1));
  std::size_t got = 0;
  if (!text) why = "there is no memory to read it";
  while (!why && got < bytes) {
    const ssize_t more = ::read(fd, text + got, bytes - got);
    if (more <= 0) why = "it cannot be read";
    if (more > 0) got += more;
  }
  close(fd);
  // How many channels NCCL takes by itself is known after the last size.
  if (!why) why = read(text, got, limits, 0);
  if (!why) why = read(text, got, limits, widest_);
  free(text);
  return why;
}

const char* Tuning::read(const char* text, std::size_t bytes, ChannelLimits limits,
                         std::uint64_t widest) {
  function = -1;
  ranks = nodes = version = 0;
  sizes = 0;
  gpu_count_ = 0;
  widest_ = 0;
  collective[0] = release[0] = 0;
  char schema[32] = "";
  const char* why = nullptr;
  const bool is_raised = limits.can_be_set && limits.least > widest;
  const std::uint64_t most = limits.least > widest ? limits.least : widest;
  JsonReader json(text, bytes);

  const auto row = [&] {
    if (sizes == kSizes) return why = "it has more than 1024 sizes", false;
    TunedSize& size = rows_[sizes];
    size.bytes = 0;
    TunedChoice own, best;
    bool is_fast = false, has_faster = false;
    const auto faster = [&] {
      TunedChoice choice;
      bool is_set = false;
      if (!json.object([&](const char* key) {
            return strcmp(key, "sets_channels") ? choice_member(json, key, &choice)
                                                : json.boolean(&is_set);
          }))
        return false;
      if (choice.algorithm == kUnknown || choice.protocol == kUnknown ||
          (is_set && !choice.channels))
        return why = "it names an algorithm, protocol or number of channels that NCCL has not",
               false;
      const bool is_logged = choice.algorithm >= 0 && choice.protocol >= 0;
      const bool fits = is_logged && (!is_set || (limits.can_be_set && choice.channels <= most));
      if (!is_set && !is_raised) choice.channels = 0;
      if (!is_fast && fits) best = choice, is_fast = true;
      return true;
    };
    if (!json.object([&](const char* key) {
          if (!strcmp(key, "bytes")) return json.number(&size.bytes);
          if (!strcmp(key, "faster")) return has_faster = true, json.array(faster);
          return choice_member(json, key, &own);
        }))
      return false;
    if (!has_faster) return why = "an older railgauge wrote it: measure again", false;
    if (!size.bytes || (sizes && size.bytes <= rows_[sizes - 1].bytes))
      return why = "its sizes are not in order", false;
    if (own.channels > widest_) widest_ = own.channels;
    // With more channels than NCCL takes by itself its choice is no longer the measured one, which
    // the table then holds.
    const bool is_known = own.algorithm >= 0 && own.protocol >= 0 && own.channels;
    size.choice = is_fast ? best : is_raised && is_known ? own : TunedChoice{};
    ++sizes;
    return true;
  };
  const bool is_whole = json.object([&](const char* key) {
    if (!strcmp(key, "schema")) return json.text(schema, sizeof schema);
    if (!strcmp(key, "collective")) return json.text(collective, sizeof collective);
    if (!strcmp(key, "ranks")) return json.number(&ranks);
    if (!strcmp(key, "nodes")) return json.number(&nodes);
    if (!strcmp(key, "nccl")) return json.null() || json.text(release, sizeof release);
    if (!strcmp(key, "rows")) return json.array(row);
    if (!strcmp(key, "gpus"))
      return json.array([&] {
        if (gpu_count_ == kGpus) return why = "it has more than 8 kinds of GPUs", false;
        return json.text(gpus_[gpu_count_++], kNameBytes);
      });
    return json.skip();
  }) && json.at_end();
  if (why) return why;
  if (!is_whole) {
    snprintf(why_, sizeof why_, "it is not such a document from byte %zu on", json.offset());
    return why_;
  }
  if (strcmp(schema, "railgauge/nccl-tuning/1")) return "it is not railgauge/nccl-tuning/1";
  function = numbered(kCollectives, collective);
  version = version_of(release);
  if (function < 0) return "it is of no collective that NCCL has a choice for";
  if (!gpu_count_) return "an older railgauge wrote it: measure again";
  if (!ranks || !nodes || !version) return "it does not say with which ranks and NCCL";
  return nullptr;
}

TunedChoice Tuning::at(std::size_t bytes) const {
  int first = 0, last = sizes;  // the first size above
  while (first < last) {
    const int middle = (first + last) / 2;
    if (rows_[middle].bytes > bytes)
      last = middle;
    else
      first = middle + 1;
  }
  const double wanted = static_cast<double>(bytes);
  const double below = first ? static_cast<double>(rows_[first - 1].bytes) : 0;
  const double above = first < sizes ? static_cast<double>(rows_[first].bytes) : 0;
  const bool is_below = below && (!above || wanted / below <= above / wanted);
  const double ratio = is_below ? wanted / below : above / wanted;
  if ((!below && !above) || !bytes || ratio * ratio > 2) return {};
  return rows_[is_below ? first - 1 : first].choice;
}

int Tuning::chosen() const {
  int count = 0;
  for (int i = 0; i < sizes; ++i) count += rows_[i].choice.algorithm >= 0;
  return count;
}

bool Tuning::has_gpu(const char* name) const {
  for (std::size_t i = 0; i < gpu_count_; ++i)
    if (*name && !strcmp(gpus_[i], name)) return true;
  return false;
}

}  // namespace railgauge::nccl_plugin

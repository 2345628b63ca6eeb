// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl_plugin/json.h"

#include <string.h>

namespace railgauge::nccl_plugin {

void JsonReader::pass_blanks() {
  while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
}

bool JsonReader::take(char wanted) {
  pass_blanks();
  if (at_ == end_ || *at_ != wanted) return false;
  ++at_;
  return true;
}

bool JsonReader::word(const char* wanted) {
  pass_blanks();
  const std::size_t length = strlen(wanted);
  if (static_cast<std::size_t>(end_ - at_) < length || memcmp(at_, wanted, length)) return false;
  at_ += length;
  return true;
}

bool JsonReader::at_end() {
  pass_blanks();
  return at_ == end_;
}

bool JsonReader::text(char* to, std::size_t bytes) {
  if (!take('"')) return false;
  std::size_t length = 0;
  while (at_ < end_ && *at_ != '"') {
    char one = *at_++;
    if (static_cast<unsigned char>(one) < ' ') return false;
    if (one == '\\') {
      if (at_ == end_) return false;
      one = *at_++;
      const std::ptrdiff_t digits = one == 'u' ? 4 : 0;
      if (end_ - at_ < digits || !strchr("\"\\/bfnrtu", one)) return false;
      if (!strchr("\"\\/", one)) one = '?';
      at_ += digits;
    }
    if (length + 1 < bytes) to[length++] = one > '~' || one < ' ' ? '?' : one;
  }
  to[length] = 0;
  return take('"');
}

bool JsonReader::number(std::uint64_t* value) {
  pass_blanks();
  int digits = 0;
  for (*value = 0; at_ < end_ && *at_ >= '0' && *at_ <= '9'; ++at_, ++digits) {
    if (digits == 18) return false;
    *value = *value * 10 + (*at_ - '0');
  }
  return digits && (at_ == end_ || !strchr(".eE", *at_));
}

bool JsonReader::boolean(bool* value) {
  *value = word("true");
  return *value || word("false");
}

bool JsonReader::skip() {
  pass_blanks();
  char ignored[2];
  bool truth;
  if (at_ == end_) return false;
  if (*at_ == '"') return text(ignored, sizeof ignored);
  if (*at_ == '{') return object([&](const char*) { return skip(); });
  if (*at_ == '[') return array([&] { return skip(); });
  const char* begin = at_;
  while (at_ < end_ && *at_ && strchr("+-.0123456789eE", *at_)) ++at_;
  return at_ > begin || null() || boolean(&truth);
}

}  // namespace railgauge::nccl_plugin

// SPDX-License-Identifier: Apache-2.0
// Reads JSON in one pass, without memory of its own: the caller asks for what it expects, and after
// the first thing that is not so everything fails.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::nccl_plugin {

class JsonReader {
 public:
  JsonReader(const char* text, std::size_t bytes) : begin_(text), at_(text), end_(text + bytes) {}

  // Calls member(key), which reads the value, for each member; a long key is cut.
  template <class F>
  bool object(const F& member) {
    return list('{', '}', [&] {
      char key[32];
      return text(key, sizeof key) && take(':') && member(key);
    });
  }
  // Calls item(), which reads it, for each.
  template <class F>
  bool array(const F& item) {
    return list('[', ']', item);
  }
  // A string, cut to fit, in printable ASCII: each byte of other characters is a `?`.
  bool text(char* to, std::size_t bytes);
  // A whole number of at most 18 digits.
  bool number(std::uint64_t* value);
  bool boolean(bool* value);
  // Whether the next value is null; it is read then.
  bool null() { return word("null"); }
  // Any value.
  bool skip();
  // Whether nothing is left.
  bool at_end();
  std::size_t offset() const { return at_ - begin_; }

 private:
  template <class F>
  bool list(char opening, char closing, const F& item) {
    if (depth_ == kMostDepth || !take(opening)) return false;
    if (take(closing)) return true;
    ++depth_;
    do {
      if (!item()) return false;
    } while (take(','));
    --depth_;
    return take(closing);
  }
  void pass_blanks();
  bool take(char wanted);
  bool word(const char* wanted);

  static constexpr int kMostDepth = 16;
  const char *begin_, *at_, *end_;
  int depth_ = 0;
};

}  // namespace railgauge::nccl_plugin

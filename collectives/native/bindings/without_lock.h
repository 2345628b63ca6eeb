// SPDX-License-Identifier: Apache-2.0
// Objects that Python owns and that free memory of a GPU.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <utility>

namespace railgauge {

// Ends without Python's lock: to free memory of a GPU takes until its kernels have ended, and they
// may wait for a kernel that another thread of Python has yet to start.
template <class T>
std::shared_ptr<T> ended_without_lock(std::unique_ptr<T> made) {
  return {made.release(), [](T* object) {
            const nanobind::gil_scoped_release release;
            delete object;
          }};
}

// Begins so too.
template <class T, class... Arguments>
std::shared_ptr<T> without_lock(Arguments... arguments) {
  std::unique_ptr<T> made;
  {
    const nanobind::gil_scoped_release release;
    made = std::make_unique<T>(std::move(arguments)...);
  }
  return ended_without_lock(std::move(made));
}

}  // namespace railgauge

// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/side_stream.h"

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

SideStream::SideStream(Context context)
    : context_(context), forked_(context, false), joined_(context, false) {
  const Current current(context_);
  cuda_.check(cuda_.stream_create(&stream_, kBesideTheDefault), "making a stream");
}

SideStream::~SideStream() {
  if (const Closing gpu(context_); gpu) cuda_.stream_destroy(stream_);
}

Stream SideStream::fork(Stream stream) {
  follow(stream, forked_, stream_);
  return stream_;
}

void SideStream::join(Stream stream) { follow(stream_, joined_, stream); }

void SideStream::follow(Stream first, Mark& reached, Stream then) {
  const Current current(context_);
  reached.set(first);
  reached.hold_back(then);
}

}  // namespace railgauge::cuda

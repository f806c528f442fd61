//===- Streams.cpp - Streams, events, captures ----------------------------===//
// Work is done by the call that enqueues it, so that waiting has nothing to do.
//===----------------------------------------------------------------------===//

#include "State.h"
#include <chrono>

using namespace amp;
using namespace amp::ptx;

/// The default stream for null; null for a handle that is none.
static CUstream_st *findStream(Driver &driver, cuda::Stream stream) {
  if (!stream)
    return &driver.defaultStream;
  return driver.streams.count(stream) ? stream : nullptr;
}

cuda::Result amp::ptx::enqueue(cuda::Stream handle, DriverAction action) {
  CUstream_st *stream = findStream(Driver::get(), handle);
  if (!stream)
    return cuda::result::invalidHandle;
  if (!stream->capture)
    return action();
  cuda::GraphNode node;
  cuda::Result result = addNode(&node, stream->capture, stream->frontier.data(),
                                stream->frontier.size(), std::move(action));
  if (result == cuda::result::success)
    stream->frontier.assign(1, node);
  return result;
}

AMP_DRIVER_API cuStreamCreate(cuda::Stream *stream, unsigned flags) {
  AMP_DRIVER_ENTER();
  if (!stream || flags > cuda::streamNonBlocking)
    return cuda::result::invalidValue;
  *stream = new CUstream_st;
  driver.streams.insert(*stream);
  return cuda::result::success;
}

AMP_DRIVER_API cuStreamDestroy_v2(cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  if (!driver.streams.erase(stream))
    return cuda::result::invalidHandle;
  delete stream;
  return cuda::result::success;
}

AMP_DRIVER_API cuStreamSynchronize(cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  return findStream(driver, stream) ? driver.sticky
                                    : cuda::result::invalidHandle;
}

AMP_DRIVER_API cuStreamWaitEvent(cuda::Stream stream, cuda::Event event,
                                 unsigned flags) {
  AMP_DRIVER_ENTER();
  if (!findStream(driver, stream) || !driver.events.count(event))
    return cuda::result::invalidHandle;
  return flags ? cuda::result::invalidValue : cuda::result::success;
}

AMP_DRIVER_API cuStreamBeginCaptureToGraph(cuda::Stream handle,
                                           cuda::Graph graph,
                                           const cuda::GraphNode *after,
                                           const cuda::GraphEdgeData *edges,
                                           size_t numAfter, int mode) {
  (void)mode;
  AMP_DRIVER_ENTER();
  CUstream_st *stream = findStream(driver, handle);
  if (!stream || !driver.graphs.count(graph))
    return cuda::result::invalidHandle;
  if (stream->capture || edges || (numAfter && !after))
    return cuda::result::invalidValue;
  stream->capture = graph;
  stream->frontier.assign(after, after + numAfter);
  return cuda::result::success;
}

AMP_DRIVER_API cuStreamEndCapture(cuda::Stream handle, cuda::Graph *graph) {
  AMP_DRIVER_ENTER();
  CUstream_st *stream = findStream(driver, handle);
  if (!stream)
    return cuda::result::invalidHandle;
  if (!graph || !stream->capture)
    return cuda::result::invalidValue;
  *graph = stream->capture;
  stream->capture = nullptr;
  stream->frontier.clear();
  return cuda::result::success;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static double getSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

AMP_DRIVER_API cuEventCreate(cuda::Event *event, unsigned flags) {
  (void)flags;
  AMP_DRIVER_ENTER();
  if (!event)
    return cuda::result::invalidValue;
  *event = new CUevent_st;
  driver.events.insert(*event);
  return cuda::result::success;
}

AMP_DRIVER_API cuEventDestroy_v2(cuda::Event event) {
  AMP_DRIVER_ENTER();
  if (!driver.events.erase(event))
    return cuda::result::invalidHandle;
  delete event;
  return cuda::result::success;
}

AMP_DRIVER_API cuEventRecord(cuda::Event event, cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  if (!driver.events.count(event) || !findStream(driver, stream))
    return cuda::result::invalidHandle;
  event->isRecorded = true;
  event->seconds = getSeconds();
  return cuda::result::success;
}

AMP_DRIVER_API cuEventSynchronize(cuda::Event event) {
  AMP_DRIVER_ENTER();
  return driver.events.count(event) ? driver.sticky
                                    : cuda::result::invalidHandle;
}

AMP_DRIVER_API cuEventQuery(cuda::Event event) {
  AMP_DRIVER_ENTER();
  return driver.events.count(event) ? driver.sticky
                                    : cuda::result::invalidHandle;
}

/// Time of this process: it says nothing about a device.
AMP_DRIVER_API cuEventElapsedTime(float *milliseconds, cuda::Event start,
                                  cuda::Event end) {
  AMP_DRIVER_ENTER();
  if (!driver.events.count(start) || !driver.events.count(end))
    return cuda::result::invalidHandle;
  if (!milliseconds)
    return cuda::result::invalidValue;
  if (!start->isRecorded || !end->isRecorded)
    return driver.fail(cuda::result::invalidHandle,
                       "the event was not recorded");
  *milliseconds = static_cast<float>((end->seconds - start->seconds) * 1e3);
  return cuda::result::success;
}

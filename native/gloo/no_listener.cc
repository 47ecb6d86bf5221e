// In the place of gloo's tcp/listener.cc, of which each device would have one: a second port that no rank needs, and a
// process that ends when that port cannot accept. Ranks connect through the listeners of listener.cc.
#include <utility>

#include <gloo/common/error.h>
#include <gloo/transport/tcp/listener.h>

namespace gloo::transport::tcp {

Listener::Listener(std::shared_ptr<Loop> loop, const attr& attr) : loop_(std::move(loop)), addr_(attr.ai_addr) {}

Listener::~Listener() { shutdown(); }

void Listener::shutdown() {}

void Listener::handleEvents(Loop&, int) {}

// What a pair is called before it has a connection.
Address Listener::nextAddress() { return addr_; }

Address Listener::nextAddress(int) { return addr_; }

void Listener::waitForConnection(sequence_number_t, connect_callback_t) {
  throw InvalidOperationException("this device does not listen");
}

}  // namespace gloo::transport::tcp

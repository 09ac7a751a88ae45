// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/model.h"

namespace plat::inspect {

Model::Model(Listener& listener, size_t sweep_after)
    : registry_(listener, sweep_after,
                [this](Object& object) {
                  streams_.forget(object);
                  memory_.forget(object);
                }),
      streams_(registry_),
      memory_(
          registry_, streams_, [this](Object& mapping) { mstx_.memory_comes(mapping); },
          [this](const Event& event, const Object& object) { mstx_.memory_goes(event, object); }),
      mstx_(registry_, streams_, memory_),
      copies_(registry_, streams_, memory_, mstx_) {}

void Model::apply(const Event& event) {
  if (registry_.is_sweep_due())
    registry_.sweep([&](const auto& keep) {
      memory_.keep_named(keep);
      mstx_.keep_named(keep);
    });
  registry_.listener().event(event);
  switch (info_of(event.op).part) {
    case Part::Memory:
      return memory_.apply(event);
    case Part::Mapping:
      return memory_.apply_mapping(event);
    case Part::Copy:
      return copies_.apply(event);
    case Part::Stream:
      return streams_.apply(event);
    case Part::Mstx:
      return mstx_.apply(event);
    case Part::Trace:
    case Part::Device:
      return;
  }
}

}  // namespace plat::inspect

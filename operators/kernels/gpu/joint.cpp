#include "operators/kernels/gpu/joint.hpp"

namespace attnprof::operators::gpu {
namespace {

View drop_last(View view, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    view.dims.erase(view.rank() - 1);
    view.strides.erase(view.strides.size() - 1);
  }
  return view;
}

void drop(View& view, std::size_t dim) {
  view.dims.erase(dim);
  view.strides.erase(dim);
}

} // namespace

Joint::Joint(std::vector<View> views, std::size_t inner, std::size_t apart) : views_(std::move(views)) {
  for (View& view : views_) {
    view = drop_last(view, inner);
  }
  for (std::size_t d = views_[0].rank(); d-- > 0;) {
    if (d + apart >= views_[0].rank()) {
      continue;
    }
    const bool single = views_[0].dims[d] == 1;
    bool merge = d + 1 + apart < views_[0].rank();
    for (const View& view : views_) {
      merge = merge && view.mergeable(d);
    }
    for (View& view : views_) {
      if (single) {
        drop(view, d);
      } else if (merge) {
        view = view.merge(d);
      }
    }
  }
}

Space Joint::space() const {
  Space out;
  out.rank = static_cast<int>(rank());
  for (std::size_t d = 0; d < rank(); ++d) {
    out.dims[d] = views_[0].dims[d];
    out.count *= out.dims[d];
  }
  return out;
}

Operand Binder::operand(const View& view, const View& walked) const {
  Operand out;
  const auto tensor = static_cast<std::size_t>(view.tensor);
  out.dtype = graph_.tensor(view.tensor).dtype;
  if (std::byte* address = memory_.tensors.empty() ? nullptr : memory_.tensors[tensor]; address != nullptr) {
    out.address = address + view.offset * size_bytes(out.dtype);
  }
  for (std::size_t d = 0; d < walked.rank(); ++d) {
    out.strides[d] = walked.strides[d];
  }
  return out;
}

StepList Binder::steps(const Steps& steps, const View& y, const Joint& walked, std::size_t first) const {
  StepList out;
  out.queries = y.rank() > 1 ? y.dims.back(1) : 1;
  out.keys = y.rank() > 0 ? y.dims.back() : 1;
  for (const Step& step : steps) {
    StepArgs& args = out.steps[out.count++];
    args.fn = step.fn;
    args.value = static_cast<float>(step.value);
    if (step.operand) {
      args.operand = operand(*step.operand, walked.view(first++));
    }
    args.masked = is_mask(step.fn) && step.mask.any();
    args.window = step.mask.window;
  }
  return out;
}

void add_operands(std::vector<View>& views, const Steps& steps) {
  for (const Step& step : steps) {
    if (step.operand) {
      views.push_back(*step.operand);
    }
  }
}

bool is_wide(const Joint& joint, const std::vector<View>& originals, std::size_t output) {
  if (joint.rank() == 0 || joint.view(0).dims.back() % kWide != 0) {
    return false;
  }
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const View& view = joint.view(i);
    const std::int64_t inner = view.strides.back();
    if (inner == 0 && i != output) {
      continue; // one value for all neighbours
    }
    if (inner != 1 || originals[i].offset % kWide != 0) {
      return false;
    }
    for (std::size_t d = 0; d + 1 < view.rank(); ++d) {
      if (view.strides[d] % kWide != 0) {
        return false;
      }
    }
  }
  return true;
}

} // namespace attnprof::operators::gpu

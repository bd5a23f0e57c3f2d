// The folded network is the unfolded one with its norms multiplied into the convolutions by hand.
#include "tests/support/catch.hpp"
#include "tests/support/naive.hpp"

#include "operators/workload.hpp"

using namespace attnprof::testing;
namespace operators = attnprof::operators;

namespace {

bool is_product(const operators::Tensor& w, std::size_t channels) {
  // Weights of 1x1 convolutions are [in, out]; the others start with the output channel.
  return w.dims.size() == 2 && static_cast<std::size_t>(w.dims.back()) == channels;
}

/// w times gamma of its output channel.
Matrix scaled(const operators::Tensor& tensor, Matrix w, const std::vector<double>& gamma) {
  const std::size_t per_channel = w.values.size() / gamma.size();
  for (std::size_t i = 0; i < w.values.size(); ++i) {
    w.values[i] *= is_product(tensor, gamma.size()) ? gamma[i % gamma.size()] : gamma[i / per_channel];
  }
  return w;
}

Matrix row(const std::vector<double>& values) {
  Matrix out(1, values.size());
  out.values = values;
  return out;
}

/// Copies the weights of the unfolded network, each norm folded into the convolution in front of it.
void fold(const Case& from, const operators::Graph& plain, Case& into) {
  for (const operators::Tensor& tensor : plain.tensors) {
    const std::string& name = tensor.name;
    if (tensor.role != operators::TensorRole::kWeight || name.find("_bn.") != std::string::npos ||
        name.starts_with("head.")) {
      continue;
    }
    const std::string at = name.substr(0, name.rfind('.'));
    const std::string norm = at + "." + at.substr(at.rfind('.') + 1) + "_bn.";
    if (name.ends_with(".w") && plain.find(norm + "gamma") >= 0) {
      into.set(name, scaled(tensor, from.given(name), from.vector(norm + "gamma")));
      into.set(at + ".b", row(from.vector(norm + "beta")));
    } else {
      into.set(name, from.given(name));
    }
  }
  // The last norm stands in front of a linear layer.
  const std::vector<double> gamma = from.vector("head.bn.gamma");
  const Matrix w = from.given("head.logits.w");
  Matrix folded = w;
  std::vector<double> bias = from.vector("head.logits.b");
  for (std::size_t i = 0; i < w.rows; ++i) {
    for (std::size_t j = 0; j < w.columns; ++j) {
      folded(i, j) *= gamma[i];
      bias[j] += from.vector("head.bn.beta")[i] * w(i, j);
    }
  }
  into.set("head.logits.w", folded);
  into.set("head.logits.b", row(bias));
  into.set("images", from.given("images"));
}

} // namespace

TEST_CASE("folding BatchNorm does not change the network's logits") {
  const std::string id = "model=efficientvit_miniature:image_size=32";
  const Case plain(id);
  Case folded(id + ":folded=true");
  fold(plain, operators::build(operators::resolve(operators::parse_case_id(id))), folded);
  CHECK(difference(plain.result("logits"), folded.result("logits")) < 1e-9);
}

#pragma once
#include "operators/layers/multi_head.hpp"

#include <algorithm>
#include <string>

// The pieces that whole networks are made of. Weights are named "PREFIXpiece.w"; the prefix is the builder's.
namespace attnprof::operators {

/// Adds to the weight prefix for as long as it lives.
class WeightPrefix {
 public:
  WeightPrefix(GraphBuilder& builder, const std::string& part);
  ~WeightPrefix();
  WeightPrefix(const WeightPrefix&) = delete;
  WeightPrefix& operator=(const WeightPrefix&) = delete;

 private:
  GraphBuilder& builder_;
  std::string former_;
};

/// Scope and weight prefix of one part of a network: "stage0/block1" and "stage0.block1.".
class Part {
 public:
  Part(GraphBuilder& builder, const std::string& name) : scope_(builder.scope(name)), prefix_(builder, name + ".") {}

 private:
  GraphBuilder::Scope scope_;
  WeightPrefix prefix_;
};

/// x [rows, in] -> [rows, out], with or without a bias.
View dense(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t out, bool bias = true);
/// LayerNorm over the last dimension.
View norm(GraphBuilder& builder, const std::string& name, const View& x, double eps);
/// RMSNorm over the last dimension.
View rms_norm(GraphBuilder& builder, const std::string& name, const View& x, double eps);
/// Dense convolution of an image [batch, height, width, in], with a bias.
View conv(GraphBuilder& builder, const std::string& name, const View& image, std::int64_t out, std::int64_t kernel,
          std::int64_t stride, std::int64_t pad);
/// Images [batch, size, size, 3].
View image_input(GraphBuilder& builder, std::int64_t batch, std::int64_t size);
/// [batch, height, width, channels] as tokens [batch * height * width, channels].
View as_tokens(const View& image);
/// [batch * side², channels] as [batch, side, side, channels].
View as_image(const View& tokens, std::int64_t batch, std::int64_t side);
/// Mean over the tokens of each image: [batch * tokens, channels] -> [batch, channels].
View mean_tokens(GraphBuilder& builder, const View& tokens, std::int64_t batch);
/// x + fc2(act(fc1(norm x))) with biases.
View mlp_block(GraphBuilder& builder, const View& x, std::int64_t width, StepFn activation, double eps);
/// A residual sub-layer: the branch alone, for those who use it again, and its sum with the stream.
struct Residual {
  View branch, sum;
};
/// x + attention(norm x) with joint projections and biases, as in ViT.
Residual attention_block(GraphBuilder& builder, const View& x, std::int64_t batch, std::int64_t heads, double eps);

/// The entry of a family's table of sizes that the configuration names.
template <class Presets>
const auto& preset_of(const Presets& presets, const Config& config) {
  return *std::find_if(presets.begin(), presets.end(),
                       [&](const auto& one) { return one.name == config.text("model"); });
}

/// The parameter "max_depth", which blocks_of reads.
ParamSpec max_depth_param();
/// Own parameters of networks that take images.
std::vector<ParamSpec> image_params();
/// Fills image_size. Throws Error(kInvalid) where it is no multiple of `multiple`.
void resolve_image_size(Config& config, std::int64_t published, std::int64_t multiple);
/// `depth` blocks, or --max-depth where that is fewer.
std::int64_t blocks_of(const Config& config, std::int64_t depth);

} // namespace attnprof::operators

#include "cli/planted.hpp"

namespace attnprof::cli {
namespace {

class PlantedProgram final : public operators::Program {
 public:
  PlantedProgram(std::unique_ptr<operators::Program> inner, double share, profilers::Clock& clock)
      : inner_(std::move(inner)), share_(share), clock_(clock) {}

  void run() override {
    const std::int64_t begin_ns = clock_.now_ns();
    inner_->run();
    const std::int64_t end_ns = clock_.now_ns();
    const auto extra_ns = static_cast<std::int64_t>(share_ * static_cast<double>(end_ns - begin_ns));
    while (clock_.now_ns() - end_ns < extra_ns) {
    }
  }
  void run_launch(std::size_t index) override { inner_->run_launch(index); }
  const std::vector<std::string>& kernel_impls() const override { return inner_->kernel_impls(); }
  void write(operators::TensorId tensor, std::span<const float> values) override { inner_->write(tensor, values); }
  std::vector<float> read(operators::TensorId tensor) const override { return inner_->read(tensor); }
  std::optional<std::span<const std::byte>> memory(operators::TensorId tensor) const override {
    return inner_->memory(tensor);
  }
  std::vector<int> processors() const override { return inner_->processors(); }

 private:
  std::unique_ptr<operators::Program> inner_;
  double share_;
  profilers::Clock& clock_;
};

} // namespace

std::unique_ptr<operators::Program> planted(std::unique_ptr<operators::Program> inner, double share,
                                            profilers::Clock& clock) {
  return std::make_unique<PlantedProgram>(std::move(inner), share, clock);
}

} // namespace attnprof::cli

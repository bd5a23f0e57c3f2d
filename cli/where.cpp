#include "cli/where.hpp"

#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

namespace attnprof::cli {
namespace {

using operators::Config;
using operators::Error;
using operators::ErrorKind;
using operators::ParamKind;
using operators::ParamSpec;
using operators::Value;

constexpr std::size_t kMaxLength = 1000;
constexpr int kMaxDepth = 100;
constexpr std::string_view kFlag = "--where: ";

enum class Type { kInteger, kReal, kBool, kText };

[[noreturn]] void refuse_at(std::string_view text, std::size_t at, const std::string& why) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{}{}\n{:{}}^ {}", kFlag, text, "", kFlag.size() + std::min(at, text.size()), why));
}

Type type_of(const ParamSpec& spec) {
  switch (spec.kind) {
  case ParamKind::kInteger: return Type::kInteger;
  case ParamKind::kReal: return Type::kReal;
  case ParamKind::kFlag: return Type::kBool;
  case ParamKind::kChoice:
  case ParamKind::kGrid:
  case ParamKind::kText: return Type::kText;
  }
  return Type::kText;
}

bool is_number(Type type) {
  return type == Type::kInteger || type == Type::kReal;
}

} // namespace

struct Where::Node {
  std::string op; ///< "value", "name", "neg", or the operator as it is written
  Type type = Type::kBool;
  std::size_t at = 0; ///< in the text, for the caret
  Value literal;      ///< of "value"
  std::string name;   ///< of "name"
  std::unique_ptr<Node> left;
  std::unique_ptr<Node> right;
};

namespace {

using Node = Where::Node;
using NodePtr = std::unique_ptr<Node>;

/// Recursive descent over the text; every node is typed when it is made, so that a case can only fail in arithmetic.
class Parser {
 public:
  Parser(std::string_view text, std::span<const ParamSpec> params) : text_(text), params_(params) {}

  NodePtr parse() {
    NodePtr root = disjunction();
    skip_spaces();
    if (at_ < text_.size()) {
      refuse_at(text_, at_, "an operator such as <=, == or && is expected here");
    }
    require(root, root->type == Type::kBool, "this is not a condition: compare it with something");
    return root;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  /// Takes the first of the tokens that stands here.
  std::optional<std::string> take(std::span<const std::string_view> tokens) {
    skip_spaces();
    for (const std::string_view token : tokens) {
      if (text_.substr(at_).starts_with(token)) {
        at_ += token.size();
        return std::string(token);
      }
    }
    return std::nullopt;
  }

  void require(const NodePtr& node, bool holds, const std::string& why) const {
    if (!holds) {
      refuse_at(text_, node->at, why);
    }
  }

  static NodePtr binary(std::string op, std::size_t at, Type type, NodePtr left, NodePtr right) {
    auto node = std::make_unique<Node>();
    node->op = std::move(op);
    node->at = at;
    node->type = type;
    node->left = std::move(left);
    node->right = std::move(right);
    return node;
  }

  NodePtr disjunction() {
    static constexpr std::array<std::string_view, 1> kTokens{"||"};
    NodePtr left = conjunction();
    while (const auto op = take(kTokens)) {
      left = logical(*op, std::move(left), conjunction());
    }
    return left;
  }

  NodePtr conjunction() {
    static constexpr std::array<std::string_view, 1> kTokens{"&&"};
    NodePtr left = comparison();
    while (const auto op = take(kTokens)) {
      left = logical(*op, std::move(left), comparison());
    }
    return left;
  }

  NodePtr logical(std::string op, NodePtr left, NodePtr right) {
    require(left, left->type == Type::kBool, fmt::format("{} joins conditions; compare this with something", op));
    require(right, right->type == Type::kBool, fmt::format("{} joins conditions; compare this with something", op));
    const std::size_t at = left->at;
    return binary(std::move(op), at, Type::kBool, std::move(left), std::move(right));
  }

  NodePtr comparison() {
    static constexpr std::array<std::string_view, 6> kTokens{"<=", ">=", "==", "!=", "<", ">"};
    NodePtr left = sum();
    skip_spaces();
    const std::size_t at = at_;
    const auto op = take(kTokens);
    if (!op) {
      return left;
    }
    NodePtr right = sum();
    const bool ordered = *op != "==" && *op != "!=";
    if (is_number(left->type) ? !is_number(right->type) : left->type != right->type) {
      refuse_at(text_, at, "the two sides are of different kinds; quote text, as in variant == 'mha'");
    }
    if (ordered && !is_number(left->type)) {
      refuse_at(text_, at, fmt::format("{} compares numbers; use == or != here", *op));
    }
    skip_spaces();
    const std::size_t next = at_;
    if (take(kTokens)) {
      refuse_at(text_, next, "comparisons do not chain; join them with &&");
    }
    const std::size_t start = left->at;
    return binary(*op, start, Type::kBool, std::move(left), std::move(right));
  }

  NodePtr sum() {
    static constexpr std::array<std::string_view, 2> kTokens{"+", "-"};
    return arithmetic(kTokens, [this] { return product(); });
  }

  NodePtr product() {
    static constexpr std::array<std::string_view, 3> kTokens{"*", "/", "%"};
    return arithmetic(kTokens, [this] { return unary(); });
  }

  template <class Operand>
  NodePtr arithmetic(std::span<const std::string_view> tokens, const Operand& operand) {
    NodePtr left = operand();
    for (;;) {
      skip_spaces();
      const std::size_t at = at_;
      const auto op = take(tokens);
      if (!op) {
        return left;
      }
      NodePtr right = operand();
      if (!is_number(left->type) || !is_number(right->type)) {
        refuse_at(text_, at, fmt::format("{} needs numbers on both sides", *op));
      }
      const bool whole = left->type == Type::kInteger && right->type == Type::kInteger;
      if (*op == "%" && !whole) {
        refuse_at(text_, at, "% needs whole numbers on both sides");
      }
      // Types stay visible at the operator, where a caret says most.
      left = binary(*op, at, whole ? Type::kInteger : Type::kReal, std::move(left), std::move(right));
    }
  }

  NodePtr unary() {
    skip_spaces();
    const std::size_t at = at_;
    const DepthGuard guard(*this);
    static constexpr std::array<std::string_view, 2> kTokens{"!", "-"};
    const auto op = take(kTokens);
    if (!op) {
      return primary();
    }
    NodePtr operand = unary();
    if (*op == "!") {
      require(operand, operand->type == Type::kBool, "! negates conditions; compare this with something");
    } else if (!is_number(operand->type)) {
      refuse_at(text_, at, "- negates numbers");
    }
    const Type type = operand->type;
    return binary(*op == "!" ? "!" : "neg", at, type, std::move(operand), nullptr);
  }

  NodePtr primary() {
    skip_spaces();
    const char here = at_ < text_.size() ? text_[at_] : '\0';
    if (here == '(') {
      ++at_;
      NodePtr inner = disjunction();
      skip_spaces();
      if (at_ >= text_.size() || text_[at_] != ')') {
        refuse_at(text_, at_, "a closing parenthesis is missing here");
      }
      ++at_;
      return inner;
    }
    if (here == '\'' || here == '"') {
      return quoted(here);
    }
    if ((here >= '0' && here <= '9') || here == '.') {
      return number();
    }
    if (is_word(here)) {
      return word();
    }
    refuse_at(text_, at_, "a number, a parameter or 'text' is expected here");
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  NodePtr leaf(std::string op, std::size_t at, Type type, Value literal, std::string name = {}) const {
    auto node = std::make_unique<Node>();
    node->op = std::move(op);
    node->at = at;
    node->type = type;
    node->literal = std::move(literal);
    node->name = std::move(name);
    return node;
  }

  NodePtr quoted(char quote) {
    const std::size_t start = at_;
    const std::size_t end = text_.find(quote, start + 1);
    if (end == std::string_view::npos) {
      refuse_at(text_, start, "this text has no closing quote");
    }
    at_ = end + 1;
    return leaf("value", start, Type::kText, std::string(text_.substr(start + 1, end - start - 1)));
  }

  NodePtr number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) {
      ++at_;
    }
    std::string_view digits = text_.substr(start, at_ - start);
    const char* const last = digits.data() + digits.size();
    if (digits.find('.') != std::string_view::npos) {
      double value = 0.0;
      const auto [end, error] = std::from_chars(digits.data(), last, value);
      if (error == std::errc() && end == last) {
        return leaf("value", start, Type::kReal, value);
      }
    } else {
      const std::int64_t factor = digits.back() == 'k' ? 1024 : 1;
      const char* const stop = factor == 1024 ? last - 1 : last;
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(digits.data(), stop, value);
      if (error == std::errc() && end == stop && !__builtin_mul_overflow(value, factor, &value)) {
        return leaf("value", start, Type::kInteger, value);
      }
    }
    refuse_at(text_, start, fmt::format("'{}' is not a number that fits 64 bits", digits));
  }

  NodePtr word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) {
      ++at_;
    }
    const std::string name(text_.substr(start, at_ - start));
    if (name == "true" || name == "false") {
      return leaf("value", start, Type::kBool, name == "true");
    }
    const auto spec = std::find_if(params_.begin(), params_.end(), [&](const ParamSpec& s) { return s.name == name; });
    if (spec == params_.end()) {
      refuse_at(text_, start, unknown_name(start, name));
    }
    return leaf("name", start, type_of(*spec), {}, name);
  }

  std::string unknown_name(std::size_t start, const std::string& name) const {
    std::vector<std::string> known;
    for (const ParamSpec& spec : params_) {
      known.push_back(spec.name);
    }
    // kv-heads reads as a difference here; whoever writes it has the flag in mind.
    std::size_t end = start;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '-')) {
      ++end;
    }
    std::string joined(text_.substr(start, end - start));
    std::replace(joined.begin(), joined.end(), '-', '_');
    if (std::find(known.begin(), known.end(), joined) != known.end()) {
      return fmt::format("parameters are written with underscores here: {}", joined);
    }
    const std::string near = operators::nearest_name(name, known);
    return fmt::format("'{}' is not a parameter{}", name,
                       near.empty() ? "; text is quoted, as in variant == 'mha'"
                                    : fmt::format(", did you mean '{}'?", near));
  }

  struct DepthGuard {
    explicit DepthGuard(Parser& owner) : parser(owner) {
      if (++parser.depth_ > kMaxDepth) {
        refuse_at(parser.text_, parser.at_, fmt::format("this is nested more than {} deep", kMaxDepth));
      }
    }
    ~DepthGuard() { --parser.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    Parser& parser;
  };

  std::string_view text_;
  std::span<const ParamSpec> params_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// Monostate means undecided: some parameter in it is absent from the case.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Config& config) : text_(text), config_(config) {}

  Value of(const Node& node) const {
    if (node.op == "value") {
      return node.literal;
    }
    if (node.op == "name") {
      return config_.get(node.name);
    }
    if (node.op == "&&" || node.op == "||") {
      return logical(node);
    }
    const Value left = of(*node.left);
    if (std::holds_alternative<std::monostate>(left)) {
      return {};
    }
    if (node.op == "!") {
      return !std::get<bool>(left);
    }
    if (node.op == "neg") {
      return arithmetic(node, "-", std::int64_t{0}, left);
    }
    const Value right = of(*node.right);
    if (std::holds_alternative<std::monostate>(right)) {
      return {};
    }
    static constexpr std::string_view kArithmetic = "+-*/%";
    if (kArithmetic.find(node.op) != std::string_view::npos) {
      return arithmetic(node, node.op, left, right);
    }
    return compare(node.op, left, right);
  }

 private:
  /// Kleene's logic: decided as soon as one side decides it.
  Value logical(const Node& node) const {
    const bool deciding = node.op == "||";
    const Value left = of(*node.left);
    if (left == Value(deciding)) {
      return deciding;
    }
    const Value right = of(*node.right);
    if (right == Value(deciding)) {
      return deciding;
    }
    return left == Value(!deciding) && right == Value(!deciding) ? Value(!deciding) : Value();
  }

  static double real(const Value& value) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  }

  Value arithmetic(const Node& node, std::string_view op, const Value& left, const Value& right) const {
    const auto* a = std::get_if<std::int64_t>(&left);
    const auto* b = std::get_if<std::int64_t>(&right);
    if (op == "/" || op == "%") {
      if (real(right) == 0.0) {
        refuse_at(text_, node.at, "this divides by zero in one of the cases");
      }
    }
    if (a == nullptr || b == nullptr) {
      const double x = real(left);
      const double y = real(right);
      return op == "+" ? x + y : op == "-" ? x - y : op == "*" ? x * y : x / y;
    }
    std::int64_t out = 0;
    bool overflows = false;
    switch (op.front()) {
    case '+': overflows = __builtin_add_overflow(*a, *b, &out); break;
    case '-': overflows = __builtin_sub_overflow(*a, *b, &out); break;
    case '*': overflows = __builtin_mul_overflow(*a, *b, &out); break;
    default: // the quotient of the smallest number and -1 is the only one that does not fit
      overflows = *a == std::numeric_limits<std::int64_t>::min() && *b == -1;
      out = overflows ? 0 : op == "/" ? *a / *b : *a % *b;
    }
    if (overflows) {
      refuse_at(text_, node.at, "this does not fit 64 bits in one of the cases");
    }
    return out;
  }

  static Value compare(std::string_view op, const Value& left, const Value& right) {
    const auto decide = [op](const auto& a, const auto& b) -> Value {
      if (op == "==" || op == "!=") {
        return (a == b) == (op == "==");
      }
      return op == "<" ? a < b : op == ">" ? a > b : op == "<=" ? a <= b : a >= b;
    };
    if (const auto* a = std::get_if<std::string>(&left)) {
      return decide(*a, std::get<std::string>(right));
    }
    if (const auto* a = std::get_if<bool>(&left)) {
      return decide(*a, std::get<bool>(right));
    }
    const auto* a = std::get_if<std::int64_t>(&left);
    const auto* b = std::get_if<std::int64_t>(&right);
    return a != nullptr && b != nullptr ? decide(*a, *b) : decide(real(left), real(right));
  }

  std::string_view text_;
  const Config& config_;
};

} // namespace

Where::Where(std::string_view text, std::span<const ParamSpec> params) : text_(text) {
  if (text.size() > kMaxLength) {
    throw Error(ErrorKind::kUsage, fmt::format("--where is longer than {} characters: split the sweep", kMaxLength));
  }
  if (text.find_first_not_of(" \t") == std::string_view::npos) {
    throw Error(ErrorKind::kUsage, "--where is empty: give a condition such as 'kv_heads<=heads', or leave it out");
  }
  root_ = Parser(text_, params).parse();
}

Where::~Where() = default;
Where::Where(Where&&) noexcept = default;
Where& Where::operator=(Where&&) noexcept = default;

bool Where::keeps(const Config& config) const {
  return Evaluator(text_, config).of(*root_) != Value(false);
}

} // namespace attnprof::cli

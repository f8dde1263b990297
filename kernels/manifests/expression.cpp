#include "kernels/manifests/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace mhcheck::kernels {

// One operation. `offset` is where an error of it points.
struct Expression::Node {
  enum class Kind { kLiteral, kName, kCall, kUnary, kBinary };
  Kind kind = Kind::kLiteral;
  std::size_t offset = 0;
  std::string symbol{};  // the operator, function or name
  Value literal{};
  std::vector<std::shared_ptr<const Node>> operands{};
};

namespace {

using Node = Expression::Node;
using NodePtr = std::shared_ptr<const Node>;

// Nesting that no person writes; the parser and the evaluator recurse once a level.
constexpr int kDeepest = 200;

struct Function {
  std::string_view name;
  std::optional<std::size_t> arguments;  // absent: one or more
};
constexpr Function kFunctions[] = {
    {"min", std::nullopt}, {"max", std::nullopt}, {"ceildiv", 2}, {"largest_divisor", 2}};

// Keeps the search for a divisor short.
constexpr std::int64_t kLargestDivided = std::int64_t{1} << 31;

// Loosest first. Operators of a row associate to the left.
const std::vector<std::vector<std::string_view>> kPrecedence = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"},
};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NodePtr parse() {
    NodePtr root = binary(0);
    skip_spaces();
    if (position_ != text_.size()) fail(position_, "an operator or the end is expected here");
    return root;
  }

 private:
  [[noreturn]] void fail(std::size_t offset, const std::string& problem) const {
    throw ExpressionError(text_, offset, problem);
  }
  void skip_spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(position_, fmt::format("\"{}\" is expected here", token));
  }

  // All operators of one row of kPrecedence.
  NodePtr binary(std::size_t row) {
    if (row == kPrecedence.size()) return unary();
    NodePtr left = binary(row + 1);
    for (;;) {
      skip_spaces();
      const std::size_t offset = position_;
      const auto& symbols = kPrecedence[row];
      const auto symbol =
          std::find_if(symbols.begin(), symbols.end(), [&](std::string_view s) { return accept(s); });
      if (symbol == symbols.end()) return left;
      NodePtr right = binary(row + 1);
      left = std::make_shared<const Node>(Node{.kind = Node::Kind::kBinary,
                                               .offset = offset,
                                               .symbol = std::string(*symbol),
                                               .operands = {left, right}});
      if (++operators_ > kDeepest) fail(offset, fmt::format("more than {} operators", kDeepest));
    }
  }

  NodePtr unary() {
    if (++depth_ > kDeepest) fail(position_, fmt::format("nested more than {} deep", kDeepest));
    skip_spaces();
    const std::size_t offset = position_;
    NodePtr result;
    if (accept("-")) {
      result = std::make_shared<const Node>(
          Node{.kind = Node::Kind::kUnary, .offset = offset, .symbol = "-", .operands = {unary()}});
    } else if (accept("!")) {
      result = std::make_shared<const Node>(
          Node{.kind = Node::Kind::kUnary, .offset = offset, .symbol = "!", .operands = {unary()}});
    } else {
      result = primary();
    }
    --depth_;
    return result;
  }

  NodePtr primary() {
    skip_spaces();
    if (position_ == text_.size()) fail(position_, "a number, a name or \"(\" is expected here");
    const char c = text_[position_];
    if (accept("(")) {
      NodePtr inner = binary(0);
      expect(")");
      return inner;
    }
    if (is_digit(c)) return number();
    if (is_name_start(c)) return name_or_call();
    fail(position_, "a number, a name or \"(\" is expected here");
  }

  NodePtr number() {
    const std::size_t offset = position_;
    std::size_t end = offset;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    digits();
    bool real = false;
    if (end < text_.size() && text_[end] == '.') {
      real = true;
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      real = true;
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      digits();
    }
    position_ = end;
    const char* first = text_.data() + offset;
    const char* last = text_.data() + end;
    Node node{.kind = Node::Kind::kLiteral, .offset = offset};
    std::from_chars_result read;
    if (real) {
      double value = 0;
      read = std::from_chars(first, last, value);
      node.literal = value;
    } else {
      std::int64_t value = 0;
      read = std::from_chars(first, last, value);
      node.literal = value;
    }
    if (read.ec == std::errc::result_out_of_range) fail(offset, "this number is too large");
    if (read.ec != std::errc() || read.ptr != last) fail(offset, "this is no number");
    if (end < text_.size() && is_name_start(text_[end])) fail(end, "an operator is expected here");
    return std::make_shared<const Node>(std::move(node));
  }

  NodePtr name_or_call() {
    const std::size_t offset = position_;
    while (position_ < text_.size() && (is_name_start(text_[position_]) || is_digit(text_[position_])))
      ++position_;
    const std::string name(text_.substr(offset, position_ - offset));
    const auto function = std::ranges::find(kFunctions, name, &Function::name);
    const bool is_function = function != std::end(kFunctions);
    if (!accept("(")) {
      if (is_function) fail(position_, fmt::format("\"(\" is expected after {}", name));
      return std::make_shared<const Node>(Node{.kind = Node::Kind::kName, .offset = offset, .symbol = name});
    }
    if (!is_function) {
      std::vector<std::string_view> names;
      for (const Function& known : kFunctions) names.push_back(known.name);
      fail(offset, fmt::format("there is no function {}, must be one of {}", name, fmt::join(names, ", ")));
    }
    Node node{.kind = Node::Kind::kCall, .offset = offset, .symbol = name};
    do {
      node.operands.push_back(binary(0));
    } while (accept(","));
    expect(")");
    if (function->arguments && node.operands.size() != *function->arguments) {
      fail(offset,
           fmt::format("{} takes {} arguments, not {}", name, *function->arguments, node.operands.size()));
    }
    return std::make_shared<const Node>(std::move(node));
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int depth_ = 0;
  int operators_ = 0;
};

bool is_real(const Value& value) { return std::holds_alternative<double>(value); }
double to_real(const Value& value) {
  return is_real(value) ? std::get<double>(value) : static_cast<double>(std::get<std::int64_t>(value));
}

class Evaluator {
 public:
  Evaluator(std::string_view text, const Names& names) : text_(text), names_(names) {}

  Value evaluate(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::kLiteral:
        return node.literal;
      case Node::Kind::kName: {
        const auto found = names_.find(node.symbol);
        if (found == names_.end()) fail(node, fmt::format("there is no name \"{}\"", node.symbol));
        return found->second;
      }
      case Node::Kind::kUnary:
        return unary(node, evaluate(*node.operands[0]));
      case Node::Kind::kBinary:
        if (node.symbol == "&&") return std::int64_t{truth(*node.operands[0]) && truth(*node.operands[1])};
        if (node.symbol == "||") return std::int64_t{truth(*node.operands[0]) || truth(*node.operands[1])};
        return binary(node, evaluate(*node.operands[0]), evaluate(*node.operands[1]));
      case Node::Kind::kCall:
        return call(node);
    }
    fail(node, "an operation that is not known");
  }

 private:
  [[noreturn]] void fail(const Node& node, const std::string& problem) const {
    throw ExpressionError(text_, node.offset, problem);
  }

  bool truth(const Node& node) const {
    const Value value = evaluate(node);
    return is_real(value) ? std::get<double>(value) != 0 : std::get<std::int64_t>(value) != 0;
  }

  Value unary(const Node& node, const Value& value) const {
    if (node.symbol == "!") return std::int64_t{to_real(value) == 0};
    if (is_real(value)) return -std::get<double>(value);
    return checked(node, std::int64_t{0}, std::get<std::int64_t>(value),
                   [](auto a, auto b, auto* result) { return __builtin_sub_overflow(a, b, result); });
  }

  template <class Operation>
  Value checked(const Node& node, std::int64_t a, std::int64_t b, Operation operation) const {
    std::int64_t result = 0;
    if (operation(a, b, &result)) fail(node, fmt::format("{} {} {} does not fit 64 bits", a, node.symbol, b));
    return result;
  }

  Value binary(const Node& node, const Value& left, const Value& right) const {
    if (is_real(left) || is_real(right)) return binary_real(node, to_real(left), to_real(right));
    return binary_integer(node, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
  }

  Value binary_integer(const Node& node, std::int64_t a, std::int64_t b) const {
    const std::string& symbol = node.symbol;
    if (symbol == "+")
      return checked(node, a, b, [](auto x, auto y, auto* r) { return __builtin_add_overflow(x, y, r); });
    if (symbol == "-")
      return checked(node, a, b, [](auto x, auto y, auto* r) { return __builtin_sub_overflow(x, y, r); });
    if (symbol == "*")
      return checked(node, a, b, [](auto x, auto y, auto* r) { return __builtin_mul_overflow(x, y, r); });
    if (symbol == "/" || symbol == "%") {
      check_divisor(node, a, b);
      return symbol == "/" ? a / b : a % b;
    }
    return compare(symbol, a, b);
  }

  Value binary_real(const Node& node, double a, double b) const {
    const std::string& symbol = node.symbol;
    if (symbol == "+") return a + b;
    if (symbol == "-") return a - b;
    if (symbol == "*") return a * b;
    if (symbol == "/") {
      if (b == 0) fail(node, "division by zero");
      return a / b;
    }
    if (symbol == "%") fail(node, "% takes integers only");
    return compare(symbol, a, b);
  }

  template <class Number>
  static Value compare(const std::string& symbol, Number a, Number b) {
    if (symbol == "==") return std::int64_t{a == b};
    if (symbol == "!=") return std::int64_t{a != b};
    if (symbol == "<") return std::int64_t{a < b};
    if (symbol == "<=") return std::int64_t{a <= b};
    if (symbol == ">") return std::int64_t{a > b};
    return std::int64_t{a >= b};
  }

  void check_divisor(const Node& node, std::int64_t a, std::int64_t b) const {
    if (b == 0) fail(node, "division by zero");
    if (a == std::numeric_limits<std::int64_t>::min() && b == -1) {
      fail(node, fmt::format("{} {} {} does not fit 64 bits", a, node.symbol, b));
    }
  }

  std::int64_t ceildiv(const Node& node, std::int64_t a, std::int64_t b) const {
    check_divisor(node, a, b);
    const bool rounds_up = a % b != 0 && (a < 0) == (b < 0);
    return a / b + (rounds_up ? 1 : 0);
  }

  std::int64_t largest_divisor(const Node& node, std::int64_t number, std::int64_t most) const {
    if (number < 1 || number > kLargestDivided) {
      fail(node, fmt::format("largest_divisor of {}, must be of 1 to 2^31", number));
    }
    if (most < 1) fail(node, fmt::format("largest_divisor up to {}, must be up to 1 or more", most));
    std::int64_t largest = 1;
    for (std::int64_t low = 1; low * low <= number; ++low) {
      if (number % low != 0) continue;
      for (const std::int64_t divisor : {low, number / low}) {
        if (divisor <= most) largest = std::max(largest, divisor);
      }
    }
    return largest;
  }

  Value call(const Node& node) const {
    std::vector<Value> arguments;
    for (const NodePtr& operand : node.operands) arguments.push_back(evaluate(*operand));
    if (node.symbol == "ceildiv" || node.symbol == "largest_divisor") {
      if (is_real(arguments[0]) || is_real(arguments[1])) {
        fail(node, fmt::format("{} takes integers only", node.symbol));
      }
      const auto a = std::get<std::int64_t>(arguments[0]), b = std::get<std::int64_t>(arguments[1]);
      return node.symbol == "ceildiv" ? ceildiv(node, a, b) : largest_divisor(node, a, b);
    }
    const bool want_least = node.symbol == "min";
    Value best = arguments[0];
    for (const Value& candidate : arguments) {
      const bool both_integers = !is_real(best) && !is_real(candidate);
      const bool less = both_integers ? std::get<std::int64_t>(candidate) < std::get<std::int64_t>(best)
                                      : to_real(candidate) < to_real(best);
      const bool more = both_integers ? std::get<std::int64_t>(candidate) > std::get<std::int64_t>(best)
                                      : to_real(candidate) > to_real(best);
      if (want_least ? less : more) best = candidate;
    }
    return best;
  }

  std::string_view text_;
  const Names& names_;
};

void check_names_below(const Node& node, std::string_view text, const std::vector<std::string>& known) {
  if (node.kind == Node::Kind::kName && std::find(known.begin(), known.end(), node.symbol) == known.end()) {
    throw ExpressionError(text, node.offset, fmt::format("there is no name \"{}\"", node.symbol));
  }
  for (const NodePtr& operand : node.operands) check_names_below(*operand, text, known);
}

}  // namespace

ExpressionError::ExpressionError(std::string_view text, std::size_t offset, const std::string& problem)
    : std::runtime_error(
          fmt::format("column {}: {}\n  {}\n  {}^", offset + 1, problem, text, std::string(offset, ' '))),
      line_(fmt::format("column {}: {} in: {}", offset + 1, problem, text)),
      column_(offset + 1) {}

Expression Expression::parse(std::string_view text) {
  Expression expression;
  expression.text_ = text;
  expression.root_ = Parser(expression.text_).parse();
  return expression;
}

void Expression::check_names(const std::vector<std::string>& known) const {
  check_names_below(*root_, text_, known);
}

Value Expression::evaluate(const Names& names) const { return Evaluator(text_, names).evaluate(*root_); }

std::int64_t Expression::integer(const Names& names) const {
  const Value value = evaluate(names);
  if (is_real(value)) {
    throw ExpressionError(text_, 0,
                          fmt::format("the result is {}, must be an integer", std::get<double>(value)));
  }
  return std::get<std::int64_t>(value);
}

double Expression::real(const Names& names) const { return to_real(evaluate(names)); }

bool Expression::condition(const Names& names) const { return to_real(evaluate(names)) != 0; }

}  // namespace mhcheck::kernels

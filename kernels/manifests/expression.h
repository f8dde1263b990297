#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mhcheck::kernels {

/// An integer, or a real number where a parameter or a literal with a point or exponent came in.
using Value = std::variant<std::int64_t, double>;

/// What the names of an expression stand for.
using Names = std::map<std::string, Value, std::less<>>;

/// An expression that cannot be read or evaluated. what() is the line() and, below it, the expression with a
/// caret under the place.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(std::string_view text, std::size_t offset, const std::string& problem);
  /// "column 7: there is no name \"hiden_size\" in: 4 * hiden_size"
  const std::string& line() const { return line_; }
  std::size_t column() const { return column_; }  ///< from 1

 private:
  std::string line_;
  std::size_t column_;
};

/// An arithmetic expression over named numbers, as launch manifests use it:
///
///     ceildiv(num_tokens, tile) * (hidden_size / 256) >= 1 && hc_mult == 4
///
/// Operators as in C with C's precedence: || && == != < <= > >= + - * / % and the unary ! -; functions min,
/// max (of one or more), ceildiv and largest_divisor (of its first argument, up to its second). Integers have
/// 64 bits and every overflow is an error, as is division by zero; integer division truncates. An operation
/// with a real operand is done in double precision; %, ceildiv and largest_divisor take integers only. && and
/// || evaluate their right side only where it decides.
class Expression {
 public:
  /// Throws ExpressionError.
  static Expression parse(std::string_view text);

  const std::string& text() const { return text_; }

  /// Throws ExpressionError unless every name that occurs is known.
  void check_names(const std::vector<std::string>& known) const;

  /// Each throws ExpressionError: a name without a value, overflow, division by zero, or the wrong kind of
  /// result.
  Value evaluate(const Names& names) const;
  std::int64_t integer(const Names& names) const;
  double real(const Names& names) const;  ///< takes an integer result too
  bool condition(const Names& names) const;

  struct Node;

 private:
  Expression() = default;

  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace mhcheck::kernels

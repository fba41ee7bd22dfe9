#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "symbolize/text/demangle.h"

namespace swipr::symbolize {
namespace {

constexpr int kMaxDepth = 64;  // of names inside names

constexpr std::array<std::string_view, 6> kPrefixes = {
    "non-virtual thunk to ", "virtual thunk to ", "vtable for ",
    "guard variable for ",   "typeinfo for ",     "TLS init function for "};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// One pass over a name; what is copied ends up in text_.
class Shortener {
 public:
  Shortener(std::string_view name, int depth) : rest_(name), depth_(depth) {}

  // False: the name has a shape that is not understood.
  bool run() {
    while (!rest_.empty()) {
      if (at_operator()) {
        copy_operator();
      } else if (!step()) {
        return false;
      }
    }
    return !text_.empty();
  }

  std::string text() && { return std::move(text_); }

 private:
  bool step() {
    switch (rest_.front()) {
      case '<':
        return angle();
      case '(':
        return parenthesis();
      case '{':
        return brace();
      case '[':  // "[abi:cxx11]", "[clone .cold]"; Rust's slices stand inside <>
        return depth_ == 0 ? skip('[', ']') : copy(1);
      case ' ':
        return blank();
      default:
        return copy(1);
    }
  }

  bool copy(std::size_t count) {
    text_.append(rest_.substr(0, count));
    rest_.remove_prefix(std::min(count, rest_.size()));
    return true;
  }

  // Length of the bracketed part that `rest_` begins with; 0: it has no end.
  std::size_t bracketed(char open, char close) const {
    int depth = 0;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      const bool arrow = rest_[at] == '>' && at > 0 && rest_[at - 1] == '-';
      if (rest_[at] == open) ++depth;
      if (rest_[at] == close && !arrow && --depth == 0) return at + 1;
    }
    return 0;
  }

  bool skip(char open, char close) {
    const std::size_t length = bracketed(open, close);
    rest_.remove_prefix(length);
    return length != 0;
  }

  // Template arguments; at the start of a path, Rust's "<Type as Trait>" or a compiler's
  // "<lambda>".
  bool angle() {
    const std::size_t length = bracketed('<', '>');
    if (length < 2) return false;
    const std::string_view inside = rest_.substr(1, length - 2);
    const bool starts_path = text_.empty() || text_.ends_with("::") || text_.back() == ' ';
    rest_.remove_prefix(length);
    if (starts_path && inside.starts_with("lambda")) {
      text_ += "<lambda>";
    } else if (text_.ends_with("::")) {  // "collect::<Vec<T>>"
      text_.resize(text_.size() - 2);
    } else if (starts_path) {
      Shortener type(inside, depth_ + 1);
      if (depth_ >= kMaxDepth || !type.run()) return false;
      text_.append("<").append(std::move(type).text()).append(">");
    }
    return true;
  }

  bool parenthesis() {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    if (rest_.starts_with(kAnonymous)) return copy(kAnonymous.size());
    // A tuple of Rust, or a function that returns a pointer to a function.
    if (text_.empty() || text_.back() == ' ') return false;
    if (!skip('(', ')')) return false;
    // " const", " &&", " [clone .cold]" belong to the parameters; "::" leads to something local.
    const std::size_t end = std::min(rest_.find("::"), rest_.size());
    const bool qualified = rest_.starts_with(" const") || rest_.starts_with(" &");
    if (depth_ == 0 && (end == rest_.size() || qualified)) rest_.remove_prefix(end);
    return true;
  }

  // "{lambda(int)#1}", "{closure#0}"
  bool brace() {
    const std::size_t length = bracketed('{', '}');
    if (length == 0) return false;
    const std::string_view part = rest_.substr(0, length);
    const std::size_t open = part.find('('), close = part.rfind(')');
    if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
      text_.append(part.substr(0, open)).append(part.substr(close + 1));
    } else {
      text_.append(part);
    }
    rest_.remove_prefix(length);
    return true;
  }

  // What stands in front of a blank is a return type, but for Rust's "T as Trait".
  bool blank() {
    if (depth_ > 0) return copy(1);
    text_.clear();
    rest_.remove_prefix(1);
    return true;
  }

  bool at_operator() const {
    constexpr std::string_view kOperator = "operator";
    if (!rest_.starts_with(kOperator)) return false;
    if (!text_.empty() && is_word(text_.back())) return false;
    return rest_.size() > kOperator.size() && !is_word(rest_[kOperator.size()]);
  }

  void copy_operator() {
    copy(std::strlen("operator"));
    if (rest_.starts_with("()") || rest_.starts_with("[]")) {
      copy(2);
    } else if (rest_.starts_with("\"\" ")) {
      copy(3);
    } else if (rest_.front() == ' ') {  // new, delete, or a type
      const std::size_t end = rest_.find('(');
      copy(end == std::string_view::npos ? rest_.size() : end);
    } else {
      while (!rest_.empty() && std::strchr("<>=-+*/%^&|~!,", rest_.front()) != nullptr) copy(1);
      if (rest_.starts_with(" <")) rest_.remove_prefix(1);  // "operator< <int>"
    }
  }

  std::string_view rest_;
  int depth_;
  std::string text_;
};

void replace_all(std::string* text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

}  // namespace

std::string shorten(std::string_view name) {
  std::string_view prefix;
  for (const std::string_view candidate : kPrefixes) {
    if (name.starts_with(candidate)) prefix = candidate;
  }
  Shortener shortener(name.substr(prefix.size()), 0);
  if (!shortener.run()) return std::string(name);
  std::string text = std::string(prefix) + std::move(shortener).text();
  replace_all(&text, "std::__cxx11::", "std::");
  replace_all(&text, "std::__1::", "std::");
  return text;
}

}  // namespace swipr::symbolize

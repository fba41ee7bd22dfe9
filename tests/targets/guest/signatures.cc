// Functions with parameters of all kinds. Lines on standard input:
//   call      calls each of them; before each call the program prints what it passes (told_calls.h)
//   nothing   calls one without parameters
// At the end of each the program prints "done".
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <complex>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/targets/guest/told_calls.h"
#include "tests/targets/target.h"

#ifdef __clang__
#define TYPED __attribute__((noinline, used))
#else
#define TYPED __attribute__((noipa, used))
#endif

namespace {

using namespace told;

volatile long sink = 0;

TARGET_INLINE void use_address(const volatile void* value) {
  sink = sink + static_cast<long>(reinterpret_cast<std::uintptr_t>(value) & 1);
}
template <typename... Values>
TARGET_INLINE void use(const Values&... values) {
  (use_address(&values), ...);
}

}  // namespace

namespace typed {

enum Colour { kRed, kGreen, kBlue = 77 };
enum class Level : signed char { kLow = -5, kHigh = 5 };

struct Point {
  int x, y;
};
struct Pair {
  long first;
  unsigned char second;
};
struct Mixed {
  double ratio;
  long count;
};
struct Floats {
  double a, b;
};
struct Big {
  long values[3];
};
struct Empty {};
struct Fields {
  unsigned low : 3;
  int middle : 5;
  unsigned high : 24;
};
struct __attribute__((packed)) Packed {
  char tag;
  int value;
};
union Either {
  int number;
  double ratio;
};
struct Nested {
  Point point;
  short list[3];
};
struct Derived : Point {
  int z;
};
struct Virtual {
  virtual ~Virtual() = default;
  int value = 3;
};
struct Moved {
  explicit Moved(int number) : value(number) {}
  Moved(const Moved&) = delete;
  Moved(Moved&&) = default;
  int value;
};

class Object {
 public:
  TYPED int method(int value) { return use(value), value + base_; }
  TYPED static int in_class(int value) { return use(value), value + 1; }

 private:
  int base_ = 10;
};

TYPED bool widths(bool yes, signed char a, unsigned char b, short c, unsigned short d, int e) {
  use(yes, a, b, c, d, e);
  return !yes;
}

TYPED unsigned char wide(unsigned a, long b, unsigned long c, long long d, char e, char32_t f) {
  use(a, b, c, d, e, f);
  return 200;
}

TYPED double between(int a, double x, int b, float y, long c, long double z, int d) {
  use(a, x, b, y, c, z, d);
  return x;
}

TYPED Colour enums(Colour colour, Level level, Colour unnamed) {
  use(colour, level, unnamed);
  return colour;
}

TYPED int* pointers(int* a, void* b, int& c, int&& d, const void* null, void (*function)()) {
  use(a, b, c, d, null, function);
  return a;
}

TYPED Point small(Point point, int after) {
  use(point, after);
  return {point.x + 1, point.y};
}

TYPED Level two_words(Pair pair, int after) {
  use(pair, after);
  return Level::kLow;
}

TYPED Mixed mixed(Mixed mixed, int after) {
  use(mixed, after);
  return mixed;
}

TYPED Floats floats(Floats floats, std::complex<double> complex, int after) {
  use(floats, complex, after);
  return floats;
}

TYPED int in_memory(Big big, int after) {
  use(big, after);
  return -after;
}

TYPED Big hidden(int a, long b) {
  use(a, b);
  return {{a, b, 3}};
}

TYPED std::string by_value(std::string text, int after) {
  use(text, after);
  return text + "!";
}

TYPED const std::string& by_reference(const std::string& a, std::string&& b, std::string* c) {
  use(a, b, c);
  return a;
}

TYPED int views(std::string_view view, const std::string_view& reference, int after) {
  use(view, reference, after);
  return after;
}

TYPED int c_strings(const char* a, char* b, const unsigned char* c, const char8_t* d) {
  use(a, b, c, d);
  return 4;
}

TYPED int many(int a, int b, int c, int d, int e, int f, int g, int h) {
  use(a, b, c, d, e, f, g, h);
  return h;
}

TYPED int no_room(long a, long b, long c, long d, long e, Pair pair, int f) {
  use(a, b, c, d, e, pair, f);
  return f;
}

TYPED int variadic(const char* format, int count, ...) {
  va_list list;
  va_start(list, count);
  const int first = va_arg(list, int);
  va_end(list);
  use(format, count);
  return first;
}

TYPED int owned(std::unique_ptr<int> owner, std::optional<int> option, Virtual object, Moved moved,
                int after) {
  use(owner, option, object, moved, after);
  return after;
}

TYPED void shapes(Empty empty, Fields fields, Packed packed, Either either, int after) {
  use(empty, fields, packed, either, after);
}

TYPED int nested(Nested nested, Derived derived, int after) {
  use(nested, derived, after);
  return after;
}

TYPED int longest(__int128 a, int b, unsigned __int128 c) {
  use(a, b, c);
  return b;
}

TYPED int members(int Object::*a, int (Object::*b)(int), int after) {
  use(a, b, after);
  return after;
}

template <typename... Values>
TYPED int generic(int before, Values... values) {
  use(before, values...);
  return before;
}

TYPED int gone(const char* unmapped, const char* at_the_end, std::string_view view, int after) {
  return (use(unmapped, at_the_end, view, after), after);
}

// They are told as they are when it ends.
TYPED const char* changes(char* buffer, std::string& text) {
  std::strcpy(buffer, "after");
  text = "after";
  return buffer;
}

TYPED int escapes(const char* controls, const char* invalid, const std::string& zero) {
  return (use(controls, invalid, zero), 0);
}

TYPED int nothing() { return (use(sink), 5); }

}  // namespace typed

namespace {

using namespace typed;

void call_scalars() {
  tell("widths", number(false), number(true), number(-1), number(200), number(-300), number(60000),
       number(-70000));
  widths(true, -1, 200, -300, 60000, -70000);
  tell("wide", number(200), number(4000000000L), number(-1L), raw("\"18446744073709551615\""),
       raw("\"-9223372036854775808\""), number(120), number(0x1F600));
  wide(4000000000U, -1, ~0UL, static_cast<long long>(1ULL << 63), 'x', U'\x1F600');
  tell("between", kUnknown, number(1), kUnknown, number(2), kUnknown, number(3), kUnknown,
       number(4));
  between(1, 0.5, 2, 0.25F, 3, 0.125L, 4);
  tell("enums", number(77), number(77), number(-5), number(3));
  enums(kBlue, Level::kLow, static_cast<Colour>(3));
  int value = 1;
  int moved = 2;
  tell("pointers", address(&value), address(&value), address(&sink), address(&value),
       address(&moved), address(nullptr), address(reinterpret_cast<void*>(&call_scalars)));
  pointers(&value, const_cast<long*>(&sink), value, std::move(moved), nullptr, &call_scalars);
  tell("many", number(8), number(1), number(2), number(3), number(4), number(5), number(6),
       kUnknown, kUnknown);
  many(1, 2, 3, 4, 5, 6, 7, 8);
  tell("longest", number(2), raw("\"0x10000000000000002\""), number(2), number(7));
  longest((static_cast<__int128>(1) << 64) + 2, 2, 7);
  tell("variadic", number(9), string("%d"), number(1));
  variadic("%d", 1, 9);
  tell("generic", number(1), number(1), number(2), kUnknown, string("three"));
  generic(1, 2L, 2.5, "three");
  tell("nothing", number(5));
  nothing();
}

void call_records() {
  tell("small", raw("{\"x\":-2,\"y\":3}"), raw("{\"x\":-3,\"y\":3}"), number(4));
  small({-3, 3}, 4);
  tell("two_words", number(-5), raw("{\"first\":-9,\"second\":8}"), number(4));
  two_words({-9, 8}, 4);
  tell("mixed", raw("{\"ratio\":null,\"count\":5}"), raw("{\"ratio\":null,\"count\":5}"),
       number(6));
  mixed({0.5, 5}, 6);
  tell("floats", raw("{\"a\":null,\"b\":null}"), raw("{\"a\":null,\"b\":null}"),
       raw("{\"_M_value\":null}"), number(7));
  floats({1, 2}, {3, 4}, 7);
  tell("in_memory", number(-8), kUnknown, number(8));
  in_memory({{1, 2, 3}}, 8);
  tell("hidden", kUnknown, number(1), number(-2));
  hidden(1, -2);
  tell("no_room", number(7), number(1), number(2), number(3), number(4), number(5),
       raw("{\"first\":null,\"second\":null}"), number(7));
  no_room(1, 2, 3, 4, 5, {6, 6}, 7);
  Empty empty;
  tell("shapes", kUnknown, raw("{}"), raw("{\"low\":5,\"middle\":-7,\"high\":70000}"), kUnknown,
       raw("{\"number\":11,\"ratio\":null}"), number(12));
  Either either{};
  either.number = 11;
  shapes(empty, {5, -7, 70000}, {'a', 2}, either, 12);
  Derived derived;
  derived.x = 1, derived.y = 2, derived.z = 3;
  tell("nested", number(9),
       raw("{\"point.x\":4,\"point.y\":5,\"list[0]\":6,\"list[1]\":-7,\"list[2]\":8}"),
       raw("{\"x\":1,\"y\":2,\"z\":3}"), number(9));
  nested({{4, 5}, {6, -7, 8}}, derived, 9);
  Virtual object;
  tell("owned", number(4), raw("\"any\""), raw("\"any\""), raw("\"any\""), raw("\"any\""),
       number(4));
  owned(std::make_unique<int>(1), 2, object, Moved(3), 4);
  tell("members", number(3), raw("\"any\""), raw("\"any\""), number(3));
  members(nullptr, &Object::method, 3);
  Object method;
  tell("method", number(17), address(&method), number(7));
  method.method(7);
  tell("in_class", number(8), number(7));
  Object::in_class(7);
}

void call_strings() {
  const std::string letters = "abc";
  const std::string long_text(100, 'z');
  std::string moved = "moved";
  std::string pointed = "pointed";
  tell("by_value", string("abc!"), string("abc"), number(1));
  by_value(letters, 1);
  tell("by_reference", string(std::string(64, 'z'), true), string(std::string(64, 'z'), true),
       string("moved"), address(&pointed));
  by_reference(long_text, std::move(moved), &pointed);
  const std::string_view view = "a view";
  tell("views", number(2), string("iew"), string("a view"), number(2));
  views(view.substr(3), view, 2);
  char room[] = "room";
  tell("c_strings", number(4), string("letters"), string("room"), string("bytes"),
       string("caf\\u00e9"));
  c_strings("letters", room, reinterpret_cast<const unsigned char*>("bytes"), u8"caf\u00e9");
  char buffer[16] = "before";
  std::string text = "before";
  tell("changes", string("after"), string("after"), string("after"));
  changes(buffer, text);
  const std::string zero("a\0b", 3);
  tell("escapes", number(0), string("\\u001b[31m\\n\\\"\\\\"), string("\\ufffd\\u202e"),
       string("a\\u0000b"));
  escapes("\x1b[31m\n\"\\", "\xff\xe2\x80\xae", zero);
}

// Of two pages the second is unmapped.
void call_at_the_end_of_memory() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const map =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const end = static_cast<char*>(map) + page;
  munmap(end, page);
  std::memcpy(end - 3, "end", 3);
  tell("gone", number(1), address(end + 8), string("end", true), string("nd"), number(1));
  gone(end + 8, end - 3, {end - 2, 2}, 1);
  munmap(map, page);
}

}  // namespace

int main() {
  target::say("ready");
  char line[64];
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    if (std::strcmp(line, "call\n") == 0) {
      call_scalars();
      call_records();
      call_strings();
      call_at_the_end_of_memory();
    } else {
      nothing();
    }
    target::say("done");
  }
  return 0;
}

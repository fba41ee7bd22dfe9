#include "symbolize/name_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>

#include "common/host/unique_fd.h"
#include "symbolize/files/cache_folder.h"

namespace swipr::symbolize {
namespace {

constexpr char kMagic[8] = {'s', 'w', 'i', 'p', 'r', 'n', 'm', '1'};
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{256} << 20;
constexpr std::string_view kSuffix = ".names";

// A file: header, addresses, functions, texts, in the byte order of this machine.
struct Header {
  char magic[8];
  std::uint32_t crc;  // of all that follows the header
  std::uint32_t address_count;
  std::uint32_t function_count;
  std::uint32_t text_count;
  std::uint32_t text_bytes;
  std::uint32_t signature;  // index of a text
};
struct AddressEntry {
  std::uint64_t address;
  std::uint32_t first, count;  // functions
};
struct FunctionEntry {
  std::uint64_t offset;
  std::uint32_t name, linkage_name, file, line, start_line, inlined;
};
static_assert(sizeof(Header) == 32 && sizeof(AddressEntry) == 16 && sizeof(FunctionEntry) == 32,
              "the file is these structures as they are");

class Writer {
 public:
  std::vector<char> write(std::string_view signature, const NameCache::Entries& entries) {
    const std::uint32_t signature_text = text(signature);
    for (const auto& [address, functions] : entries) {
      addresses_.push_back({address, static_cast<std::uint32_t>(functions_.size()),
                            static_cast<std::uint32_t>(functions.size())});
      for (const SourceFunction& function : functions) {
        functions_.push_back({function.offset, text(function.name), text(function.linkage_name),
                              text(function.file), function.line, function.start_line,
                              function.inlined ? 1u : 0u});
      }
    }
    std::vector<char> file(sizeof(Header));
    append(&file, addresses_.data(), addresses_.size() * sizeof(AddressEntry));
    append(&file, functions_.data(), functions_.size() * sizeof(FunctionEntry));
    append(&file, lengths_.data(), lengths_.size() * sizeof(std::uint32_t));
    append(&file, texts_.data(), texts_.size());
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.address_count = static_cast<std::uint32_t>(addresses_.size());
    header.function_count = static_cast<std::uint32_t>(functions_.size());
    header.text_count = static_cast<std::uint32_t>(lengths_.size());
    header.text_bytes = static_cast<std::uint32_t>(texts_.size());
    header.signature = signature_text;
    header.crc = crc_of(std::span(file).subspan(sizeof header));
    std::memcpy(file.data(), &header, sizeof header);
    return file;
  }

  static std::uint32_t crc_of(std::span<const char> bytes) {
    return static_cast<std::uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  }

 private:
  static void append(std::vector<char>* file, const void* data, std::size_t size) {
    const char* bytes = static_cast<const char*>(data);
    file->insert(file->end(), bytes, bytes + size);
  }

  std::uint32_t text(std::string_view value) {
    const auto [found, is_new] =
        indexes_.try_emplace(value, static_cast<std::uint32_t>(lengths_.size()));
    if (is_new) {
      lengths_.push_back(static_cast<std::uint32_t>(value.size()));
      texts_ += value;
    }
    return found->second;
  }

  std::vector<AddressEntry> addresses_;
  std::vector<FunctionEntry> functions_;
  std::vector<std::uint32_t> lengths_;
  std::string texts_;
  std::unordered_map<std::string_view, std::uint32_t> indexes_;
};

// Empty: absent, of another user, or incomplete.
std::vector<char> read_file(const std::string& path) {
  const host::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.value(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (status.st_uid != ::geteuid() || size < sizeof(Header) || size > kMaxFileBytes) return {};
  std::vector<char> bytes(size);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(fd.value(), bytes.data() + done, bytes.size() - done);
    if (count <= 0) return {};
    done += static_cast<std::size_t>(count);
  }
  ::futimens(fd.value(), nullptr);  // used just now
  return bytes;
}

template <typename T>
std::vector<T> take(std::span<const char>* bytes, std::size_t count) {
  std::vector<T> values(count);
  if (count != 0) std::memcpy(values.data(), bytes->data(), count * sizeof(T));
  *bytes = bytes->subspan(count * sizeof(T));
  return values;
}

// The checksum detects incomplete files only; every index is checked as well.
class Reader {
 public:
  Reader(std::span<const char> bytes, TextPool& texts) : bytes_(bytes), pool_(texts) {}

  NameCache::Entries read(std::string_view signature) {
    Header header{};
    std::memcpy(&header, bytes_.data(), sizeof header);
    bytes_ = bytes_.subspan(sizeof header);
    const std::uint64_t expected = std::uint64_t{header.address_count} * sizeof(AddressEntry) +
                                   std::uint64_t{header.function_count} * sizeof(FunctionEntry) +
                                   std::uint64_t{header.text_count} * sizeof(std::uint32_t) +
                                   header.text_bytes;
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || expected != bytes_.size() ||
        header.crc != Writer::crc_of(bytes_)) {
      return {};
    }
    const auto addresses = take<AddressEntry>(&bytes_, header.address_count);
    const auto functions = take<FunctionEntry>(&bytes_, header.function_count);
    const auto lengths = take<std::uint32_t>(&bytes_, header.text_count);
    if (header.signature >= lengths.size() || !cut_texts(lengths)) return {};
    if (texts_[header.signature] != signature) return {};
    for (std::string_view& text : texts_) text = pool_.intern(text);
    return entries_of(addresses, functions);
  }

 private:
  bool cut_texts(const std::vector<std::uint32_t>& lengths) {
    std::string_view rest(bytes_.data(), bytes_.size());
    for (const std::uint32_t length : lengths) {
      if (length > rest.size()) return false;
      texts_.push_back(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    return true;
  }

  NameCache::Entries entries_of(const std::vector<AddressEntry>& addresses,
                                const std::vector<FunctionEntry>& functions) const {
    NameCache::Entries entries;
    entries.reserve(addresses.size());
    for (const AddressEntry& address : addresses) {
      if (address.first > functions.size() || address.count > functions.size() - address.first) {
        return {};
      }
      std::vector<SourceFunction>& result = entries[address.address];
      for (const FunctionEntry& entry :
           std::span(functions).subspan(address.first, address.count)) {
        if (std::max({entry.name, entry.linkage_name, entry.file}) >= texts_.size()) return {};
        result.push_back({.name = texts_[entry.name],
                          .linkage_name = texts_[entry.linkage_name],
                          .file = texts_[entry.file],
                          .line = entry.line,
                          .start_line = entry.start_line,
                          .offset = entry.offset,
                          .inlined = entry.inlined != 0});
      }
    }
    return entries;
  }

  std::span<const char> bytes_;
  TextPool& pool_;
  std::vector<std::string_view> texts_;
};

bool write_all(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::string NameCache::path_of(const std::string& build_id) const {
  return folder_ + "/" + build_id + std::string(kSuffix);
}

NameCache::Entries NameCache::load(const std::string& build_id, std::string_view signature,
                                   TextPool& texts) const {
  const std::vector<char> bytes = read_file(path_of(build_id));
  if (bytes.empty()) return {};
  return Reader(bytes, texts).read(signature);
}

void NameCache::store(const std::string& build_id, std::string_view signature,
                      const Entries& entries) const {
  make_cache_folder(folder_);
  const std::vector<char> bytes = Writer().write(signature, entries);
  if (bytes.size() > std::min(kMaxFileBytes, max_bytes_)) return;
  const std::string temporary = path_of(build_id) + "." + std::to_string(::getpid());
  const host::UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return;
  if (!write_all(fd.value(), bytes) ||
      ::rename(temporary.c_str(), path_of(build_id).c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  remove_oldest_files(folder_, max_bytes_);
}

}  // namespace swipr::symbolize

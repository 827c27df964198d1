#include "data/text.hpp"

#include <algorithm>
#include <utility>

#include "data/windows.hpp"

namespace switchyard {
namespace {

class TextSource : public DataSource {
 public:
  TextSource(std::shared_ptr<const Text> text, std::int64_t begin, std::int64_t end, std::int64_t context)
      : text_(std::move(text)), begin_(begin), end_(end), context_(context) {}

  std::int64_t samples() const override { return end_ - begin_ - context_; }
  InputSpec inputs() const override { return {{context_}, id_dtype, 256}; }
  TargetSpec targets() const override { return {TargetKind::tokens, {context_}, id_dtype, 256, {}}; }

  void fill(std::span<const std::int64_t> samples, Batch& batch) const override {
    check_samples(samples, this->samples());
    fill_windows(samples, context_, batch,
                 [&](std::int64_t sample, std::int64_t* to) { text_->read(begin_ + sample, context_ + 1, to); });
  }

 private:
  std::shared_ptr<const Text> text_;
  std::int64_t begin_;
  std::int64_t end_;
  std::int64_t context_;
};

}  // namespace

std::shared_ptr<const Text> Text::open(const std::vector<std::string>& files) {
  auto text = std::make_shared<Text>();
  for (const std::string& file : files) {
    text->files_.push_back(MappedFile::open(file));
    text->begins_.push_back(text->begins_.back() + static_cast<std::int64_t>(text->files_.back().bytes().size()));
  }
  return text;
}

void Text::read(std::int64_t begin, std::int64_t count, std::int64_t* to) const {
  auto file = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin()) - 1;
  while (count > 0) {
    const std::int64_t here = std::min(count, begins_[file + 1] - begin);
    const std::byte* bytes = files_[file].bytes().data() + (begin - begins_[file]);
    for (std::int64_t i = 0; i < here; ++i) *to++ = std::to_integer<std::int64_t>(bytes[i]);
    begin += here;
    count -= here;
    ++file;
  }
}

std::unique_ptr<DataSource> make_text_source(std::shared_ptr<const Text> text, std::int64_t begin, std::int64_t end,
                                             std::int64_t context) {
  return std::make_unique<TextSource>(std::move(text), begin, end, context);
}

}  // namespace switchyard

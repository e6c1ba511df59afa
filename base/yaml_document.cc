#include "base/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/yaml_scalar.h"
#include "base/yaml_split.h"

namespace kantha {
namespace {

/// Beyond this a path is not worth showing, and keeping it would make memory quadratic.
constexpr std::size_t kPathBytesMax = 1000;
/// The longest label key of Kubernetes has 317 bytes.
constexpr std::size_t kKeyBytesMax = 512;
constexpr std::size_t kBytesPerNode = 128;
constexpr std::string_view kStandardTag = "tag:yaml.org,2002:";

/// Ends the reading of a document from inside yaml-cpp's callbacks; never leaves this file.
struct Stop {};

/// Builds one document from yaml-cpp's events. Events, unlike yaml-cpp's Nodes, show repeated keys,
/// tags and aliases before anything is unfolded.
class DocumentBuilder final : public YAML::EventHandler {
 public:
  DocumentBuilder(const YamlLimits& limits, int first_line, std::vector<YamlProblem>& problems)
      : limits_(limits), first_line_(first_line), problems_(problems) {}

  YamlDocument take() { return std::move(document_); }
  bool saw_content() const { return saw_content_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (frames_.empty() && !saw_content_) return;  // an empty document is no content
    if (expects_key()) stop(mark, "a key must be a string, got null");
    add(mark, Json(nullptr), anchor, 1);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) stop(mark, "an alias cannot be a key");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias inside the value it names has no end");
    // The count is checked before the copy, so that nested aliases cannot unfold to gigabytes.
    count_nodes(mark, found->second.nodes);
    add(mark, found->second.value, 0, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (expects_key()) return take_key(mark, tag, text);
    Result<Json> value = yaml_scalar_value(text, tag);
    if (!value.ok()) {
      note(mark, child_path(), value.error().message);
      value = Json(nullptr);
    }
    add(mark, std::move(value).value(), anchor, weight_of(text));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", Json::array(), anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", Json::object(), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A map or sequence that is being read.
  struct Frame {
    Json value;
    std::string path;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    std::size_t nodes_before = 0;
    std::string key = {};
    bool has_key = false;
    bool drop_value = false;  ///< the key was repeated: its value is read and forgotten
  };
  struct Anchor {
    Json value;
    std::size_t nodes = 0;
  };

  /// Long text counts for more, so that aliases to it are bounded too.
  static std::size_t weight_of(const std::string& text) { return 1 + text.size() / kBytesPerNode; }

  int line_of(const YAML::Mark& mark) const { return first_line_ + std::max(0, mark.line); }

  void note(const YAML::Mark& mark, std::string path, std::string message) {
    problems_.push_back({line_of(mark), {std::move(path), std::move(message)}});
  }

  [[noreturn]] void stop(const YAML::Mark& mark, std::string message) {
    note(mark, child_path(), std::move(message));
    throw Stop{};
  }

  bool expects_key() const {
    return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().has_key;
  }

  /// Path of the value that comes next.
  std::string child_path() const {
    if (frames_.empty()) return {};
    const Frame& top = frames_.back();
    if (top.path.size() > kPathBytesMax) return top.path;
    if (top.value.is_array()) return top.path + "[" + std::to_string(top.value.size()) + "]";
    return top.has_key ? yaml_path(top.path, top.key) : top.path;
  }

  void count_nodes(const YAML::Mark& mark, std::size_t count) {
    nodes_ += count;
    if (nodes_ > limits_.nodes_max) {
      stop(mark,
           "the document unfolds to more than " + std::to_string(limits_.nodes_max) + " values");
    }
  }

  void take_key(const YAML::Mark& mark, const std::string& tag, const std::string& text) {
    Frame& top = frames_.back();
    if (tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:str") {
      stop(mark, "a key cannot have the tag \"" + tag.substr(0, 60) + "\"");
    }
    if (text.size() > kKeyBytesMax) {
      stop(mark, "a key has " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(kKeyBytesMax) + " are taken");
    }
    if (text == "<<" && tag == "?") stop(mark, "merge keys (<<) are not supported");
    count_nodes(mark, text.size() / kBytesPerNode);
    top.key = text;
    top.has_key = true;
    top.drop_value = top.value.contains(text);
    if (top.drop_value) note(mark, child_path(), "the key is given twice");
  }

  /// Puts a finished value into what surrounds it.
  void add(const YAML::Mark& mark, Json value, YAML::anchor_t anchor, std::size_t nodes) {
    count_nodes(mark, nodes);
    remember(mark);
    if (anchor != 0) anchors_[anchor] = {value, nodes};
    place(std::move(value));
  }

  void remember(const YAML::Mark& mark) {
    saw_content_ = true;
    std::string path = child_path();
    if (path.size() <= kPathBytesMax) document_.lines.emplace(std::move(path), line_of(mark));
  }

  void place(Json value) {
    if (frames_.empty()) {
      document_.root = std::move(value);
      return;
    }
    Frame& top = frames_.back();
    if (top.value.is_array()) {
      top.value.push_back(std::move(value));
      return;
    }
    if (!top.drop_value) top.value[top.key] = std::move(value);
    top.has_key = false;
  }

  void open(const YAML::Mark& mark, const std::string& tag, std::string_view kind, Json empty,
            YAML::anchor_t anchor) {
    if (expects_key()) stop(mark, "a key must be a string, not a map or a list");
    const bool standard = tag == std::string(kStandardTag) + std::string(kind);
    if (!tag.empty() && tag != "?" && tag != "!" && !standard) {
      note(mark, child_path(), "tag \"" + tag.substr(0, 60) + "\" is not known here");
    }
    if (frames_.size() >= limits_.depth_max) {
      stop(mark, "values are nested deeper than " + std::to_string(limits_.depth_max) + " levels");
    }
    count_nodes(mark, 1);
    remember(mark);
    frames_.push_back({std::move(empty), child_path(), mark, anchor, nodes_ - 1});
  }

  void close() {
    Frame done = std::move(frames_.back());
    frames_.pop_back();
    if (done.anchor != 0) anchors_[done.anchor] = {done.value, nodes_ - done.nodes_before};
    place(std::move(done.value));
  }

  const YamlLimits& limits_;
  int first_line_;
  std::vector<YamlProblem>& problems_;
  YamlDocument document_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchor> anchors_;
  std::size_t nodes_ = 0;
  bool saw_content_ = false;
};

/// Notices text that yaml-cpp would silently leave behind after a document.
class LeftoverProbe final : public YAML::EventHandler {
 public:
  explicit LeftoverProbe(YAML::Mark& mark) : mark_(mark) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    mark_ = mark;
    throw Stop{};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark& mark_;
};

std::string parser_message(const YAML::Exception& error) {
  return "is not valid YAML: " + error.msg.substr(0, 200);
}

/// Reads one document's text; problems go to `out`.
void read_document(const YamlPiece& piece, const YamlLimits& limits, YamlText& out) {
  DocumentBuilder builder(limits, piece.line, out.problems);
  const std::size_t problems_before = out.problems.size();
  try {
    // yaml-cpp takes a quote that is still open at the end of the text for closed; an end marker
    // makes it look again.
    std::string text(piece.text);
    if (!text.ends_with('\n')) text += '\n';
    std::istringstream stream(text + "...\n");
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    YAML::Mark mark = YAML::Mark::null_mark();
    LeftoverProbe probe(mark);
    try {
      if (parser) parser.HandleNextDocument(probe);
    } catch (const Stop&) {
      out.problems.push_back({piece.line + std::max(0, mark.line),
                              {"", "text is left over after the end of the document"}});
    }
  } catch (const Stop&) {
  } catch (const YAML::Exception& error) {
    const int line = piece.line + std::max(0, error.mark.line);
    out.problems.push_back({line, {"", parser_message(error)}});
  } catch (const std::exception& error) {
    out.problems.push_back({piece.line, {"", "cannot be read: " + std::string(error.what())}});
  }
  if (!builder.saw_content() || out.problems.size() != problems_before) return;
  out.documents.push_back(builder.take());
  out.documents.back().line = piece.line;
}

/// The text's form: size, encoding and control characters.
std::vector<YamlProblem> check_form(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return {{1,
             {"", "has " + std::to_string(text.size()) + " bytes, at most " +
                      std::to_string(limits.bytes_max) + " are read"}}};
  }
  if (const int line = line_of_bad_byte(text); line > 0) {
    return {{line, {"", "is not YAML text: control characters or bytes that are not UTF-8"}}};
  }
  return {};
}

}  // namespace

std::string yaml_path(const std::string& parent, std::string_view key) {
  return parent.empty() ? std::string(key) : parent + "." + std::string(key);
}

int YamlDocument::line_of(const std::string& path) const {
  std::string at = path;
  while (true) {
    if (const auto found = lines.find(at); found != lines.end()) return found->second;
    const auto cut = at.find_last_of(".[");
    if (cut == std::string::npos) return line;
    at.resize(cut);
  }
}

YamlText read_yaml(std::string_view text, const YamlLimits& limits) {
  YamlText out;
  out.problems = check_form(text, limits);
  if (!out.problems.empty()) return out;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::vector<YamlPiece> pieces = split_yaml(text);
  if (pieces.size() > limits.documents_max) {
    out.problems.push_back({1,
                            {"", "has " + std::to_string(pieces.size()) + " documents, at most " +
                                     std::to_string(limits.documents_max) + " are read"}});
    return out;
  }
  for (const YamlPiece& piece : pieces) read_document(piece, limits, out);
  return out;
}

}  // namespace kantha

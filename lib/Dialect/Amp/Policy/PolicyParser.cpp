//===- PolicyParser.cpp - Reads policy files ------------------------------===//
//
// Follows `extends`, checks every row, and says where and what is wrong.
//
//===----------------------------------------------------------------------===//

#include "PolicyParser.h"

#include "Builtins.h"
#include "amp/Support/CheckedJson.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace amp {

static SmallVector<StringRef> classWords() {
  SmallVector<StringRef> words;
  for (OpClass opClass : {OpClass::Narrow, OpClass::Wide, OpClass::Promote,
                          OpClass::Follow, OpClass::Move, OpClass::Never})
    words.push_back(stringifyOpClass(opClass));
  return words;
}

static bool looksLikePath(StringRef text) {
  return text.contains('/') || text.ends_with(".json") ||
         sys::fs::is_regular_file(text);
}

Expected<Policy> PolicyParser::load(StringRef nameOrPath) {
  return resolve(nameOrPath, /*extendedBy=*/nullptr);
}

Expected<Policy> PolicyParser::resolve(StringRef nameOrPath,
                                       const Source *extendedBy) {
  if (std::optional<StringRef> text = builtinPolicyText(nameOrPath))
    return loadBuiltin(nameOrPath, *text,
                       /*mayBeAbstract=*/extendedBy != nullptr);

  std::string prefix =
      extendedBy ? extendedBy->where + ": 'extends': " : std::string();
  if (!looksLikePath(nameOrPath)) {
    std::vector<std::string> names;
    for (const PolicyInfo &info : Policy::builtins())
      names.push_back(info.name);
    std::string hint = didYouMean(
        nameOrPath, SmallVector<StringRef>(names.begin(), names.end()));
    if (hint.empty())
      hint = "; give the path of a JSON file or one of " + join(names, ", ");
    return makeError(prefix + "unknown policy '" + nameOrPath + "'" + hint);
  }

  SmallString<128> path(nameOrPath);
  if (extendedBy && sys::path::is_relative(path)) {
    path = extendedBy->directory;
    sys::path::append(path, nameOrPath);
  }
  if (!sys::fs::is_regular_file(path))
    return makeError(prefix + "policy file '" + path +
                     "' does not exist or is not a file; check the path");
  return loadFile(path, /*mayBeAbstract=*/extendedBy != nullptr);
}

Expected<Policy> PolicyParser::loadBuiltin(StringRef name, StringRef text,
                                           bool mayBeAbstract) {
  Source source{("built-in policy '" + name + "'").str(), "",
                /*isBuiltin=*/true};
  if (Error error = enter(source.where, source.where))
    return std::move(error);
  scope_exit leave([&] { chain.pop_back(); });
  return parse(text, source, mayBeAbstract);
}

Expected<Policy> PolicyParser::loadFile(StringRef path, bool mayBeAbstract) {
  SmallString<128> realPath;
  if (sys::fs::real_path(path, realPath))
    realPath = path;
  Source source{("policy file '" + path + "'").str(),
                sys::path::parent_path(path).str(), /*isBuiltin=*/false};
  if (Error error = enter(realPath, source.where))
    return std::move(error);
  scope_exit leave([&] { chain.pop_back(); });

  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return makeError(source.where + ": " + buffer.getError().message() +
                     "; check that it can be read");
  return parse((*buffer)->getBuffer(), source, mayBeAbstract);
}

Error PolicyParser::enter(StringRef id, StringRef where) {
  if (is_contained(chain, id))
    return makeError(where + ": 'extends' comes back to this file (" +
                     join(chain, " -> ") + " -> " + id +
                     "); remove one of these links");
  chain.push_back(id.str());
  return Error::success();
}

Expected<Policy> PolicyParser::parse(StringRef text, const Source &source,
                                     bool mayBeAbstract) {
  Expected<json::Object> object = parseObject(text, source.where);
  if (!object)
    return object.takeError();
  if (Error error = checkKeys(
          *object,
          {"name", "description", "placement", "extends", "abstract", "rows"},
          source.where))
    return std::move(error);
  const json::Value *abstract = object->get("abstract");
  if (abstract && !abstract->getAsBoolean())
    return makeError(source.where + ": 'abstract' must be true or false");
  if (abstract && *abstract->getAsBoolean() && !mayBeAbstract)
    return makeError(source.where + " is abstract, only for other policies to "
                                    "extend; choose one that is not");

  Policy policy;
  if (const json::Value *extends = object->get("extends")) {
    std::optional<StringRef> base = extends->getAsString();
    if (!base)
      return makeError(source.where +
                       ": 'extends' must be the name or path of one policy");
    Expected<Policy> extended = resolve(*base, &source);
    if (!extended)
      return extended.takeError();
    policy = std::move(*extended);
  }
  if (Error error = parseHeader(*object, source, policy))
    return std::move(error);
  if (Error error = parseRows(*object, source, policy))
    return std::move(error);
  return policy;
}

Error PolicyParser::parseHeader(const json::Object &object,
                                const Source &source, Policy &policy) {
  Expected<std::string> name = requireString(object, "name", source.where);
  if (!name)
    return name.takeError();
  policy.policyName = *name;
  if (!source.isBuiltin && builtinPolicyText(*name))
    return makeError(source.where + ": name '" + *name +
                     "' is that of a built-in policy; choose another");
  if (object.get("description")) {
    Expected<std::string> description =
        requireString(object, "description", source.where);
    if (!description)
      return description.takeError();
    policy.policyDescription = *description;
  }
  if (object.get("placement")) {
    Expected<std::string> word =
        requireString(object, "placement", source.where);
    if (!word)
      return word.takeError();
    std::optional<Placement> placement = symbolizePlacement(*word);
    if (!placement)
      return makeError(source.where + ": unknown placement '" + *word +
                       "'; write 'program-order' or 'fewest-casts'");
    policy.policyPlacement = *placement;
  }
  return Error::success();
}

Error PolicyParser::parseRows(const json::Object &object, const Source &source,
                              Policy &policy) {
  const json::Array *rows = object.getArray("rows");
  if (!rows)
    return makeError(source.where +
                     ": 'rows' is missing or not a list; add \"rows\": [...]");
  StringMap<size_t> seen;
  for (const auto &[index, value] : enumerate(*rows)) {
    std::string where = (source.where + ": row " + Twine(index + 1)).str();
    const json::Object *row = value.getAsObject();
    if (!row)
      return makeError(where + ": expected an object like {\"op\": \"MatMul\", "
                               "\"class\": \"narrow\"}");
    Expected<std::string> op = requireString(*row, "op", where);
    if (!op)
      return op.takeError();
    where += " ('" + *op + "')";
    auto [it, isNew] = seen.try_emplace(*op, index + 1);
    if (!isNew)
      return makeError(where + ": row " + Twine(it->second) +
                       " is for the same operator; remove one of them");
    if (!source.isBuiltin)
      if (Error error = checkOp(*op, where))
        return error;
    Policy::Entry entry;
    entry.origin = policy.policyName;
    if (Error error = parseRow(*row, where, entry))
      return error;
    policy.rows[*op] = std::move(entry);
  }
  return Error::success();
}

std::vector<std::string> PolicyParser::knownOperators() {
  Policy everything =
      cantFail(PolicyParser().load(builtinPolicies().front().name));
  std::vector<std::string> result;
  for (StringRef op : everything.ops())
    result.push_back(op.str());
  return result;
}

Error PolicyParser::checkOp(StringRef op, StringRef where) {
  if (knownOps.empty())
    knownOps = knownOperators();
  if (llvm::binary_search(knownOps, op))
    return Error::success();
  std::string hint =
      didYouMean(op, SmallVector<StringRef>(knownOps.begin(), knownOps.end()));
  if (hint.empty())
    hint = "; rows are for operators of the ai.onnx domain, remove it";
  return makeError(where + ": unknown operator '" + op + "'" + hint);
}

Error PolicyParser::parseRow(const json::Object &row, StringRef where,
                             Policy::Entry &entry) {
  if (Error error = checkKeys(
          row, {"op", "class", "f16", "bf16", "note", "cases"}, where))
    return error;
  bool perType = row.get("f16") || row.get("bf16");
  if (perType && row.get("class"))
    return makeError(where + ": 'class' overlaps 'f16' and 'bf16'; give either "
                             "one class or one for each type");
  Expected<OpClass> f16 = parseClass(row, perType ? "f16" : "class", where);
  if (!f16)
    return f16.takeError();
  Expected<OpClass> bf16 = parseClass(row, perType ? "bf16" : "class", where);
  if (!bf16)
    return bf16.takeError();
  entry.f16 = *f16;
  entry.bf16 = *bf16;
  if (row.get("note")) {
    Expected<std::string> note = requireString(row, "note", where);
    if (!note)
      return note.takeError();
    entry.note = *note;
  }
  return parseCases(row, where, entry);
}

Expected<OpClass> PolicyParser::parseClass(const json::Object &object,
                                           StringRef key, StringRef where) {
  Expected<std::string> word = requireString(object, key, where);
  if (!word)
    return word.takeError();
  if (std::optional<OpClass> opClass = symbolizeOpClass(*word))
    return *opClass;
  std::string hint = didYouMean(*word, classWords());
  if (hint.empty())
    hint = "; classes are " + join(classWords(), ", ");
  return makeError(where + ": unknown class '" + *word + "'" + hint);
}

Error PolicyParser::parseCases(const json::Object &row, StringRef where,
                               Policy::Entry &entry) {
  const json::Value *value = row.get("cases");
  if (!value)
    return Error::success();
  const json::Array *cases = value->getAsArray();
  if (!cases)
    return makeError(where + ": 'cases' must be a list of objects");
  for (const auto &[index, element] : enumerate(*cases)) {
    std::string caseWhere = (where + ": case " + Twine(index + 1)).str();
    const json::Object *object = element.getAsObject();
    if (!object)
      return makeError(
          caseWhere +
          ": expected an object like {\"rank\": [5], \"class\": \"wide\"}");
    Expected<RowCase> rowCase = parseCase(*object, caseWhere);
    if (!rowCase)
      return rowCase.takeError();
    entry.cases.push_back(std::move(*rowCase));
  }
  return Error::success();
}

Expected<RowCase> PolicyParser::parseCase(const json::Object &object,
                                          StringRef where) {
  if (Error error = checkKeys(
          object, {"attr", "is", "rank", "weak_operand", "class"}, where))
    return std::move(error);
  RowCase result;
  Expected<OpClass> opClass = parseClass(object, "class", where);
  if (!opClass)
    return opClass.takeError();
  result.opClass = *opClass;

  if (object.get("attr")) {
    Expected<std::string> attribute = requireString(object, "attr", where);
    if (!attribute)
      return attribute.takeError();
    result.attribute = *attribute;
  }
  if (const json::Value *value = object.get("is")) {
    const json::Array *values = value->getAsArray();
    if (!values || values->empty() || result.attribute.empty())
      return makeError(
          where +
          ": 'is' must be a list of values of the attribute that 'attr' names");
    for (const json::Value &element : *values) {
      if (std::optional<StringRef> text = element.getAsString())
        result.values.push_back(text->str());
      else if (std::optional<int64_t> integer = element.getAsInteger())
        result.values.push_back(std::to_string(*integer));
      else
        return makeError(where + ": 'is' holds strings and integers only");
    }
  }
  Expected<std::vector<int64_t>> ranks = readIntegers(object, "rank", where);
  if (!ranks)
    return ranks.takeError();
  result.ranks = std::move(*ranks);
  if (const json::Value *value = object.get("weak_operand")) {
    std::optional<int64_t> operand = value->getAsInteger();
    if (!operand || *operand < 0)
      return makeError(where +
                       ": 'weak_operand' must be the index of an operand");
    result.weakOperand = *operand;
  }
  if (result.attribute.empty() && result.ranks.empty() && !result.weakOperand)
    return makeError(where +
                     ": no condition; give 'attr', 'rank' or 'weak_operand'");
  return result;
}

} // namespace amp

//===- CacheTest.cpp - What is compiled, and kept -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LruCache.h"
#include "tessera/Compile/Compile.h"
#include "tessera/Layout/Text.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"

#include <atomic>
#include <thread>

using namespace tessera;

static Shape parse(llvm::StringRef text) {
  return llvm::cantFail(parseShape(text));
}

static llvm::Expected<std::string> makeText(int &calls) {
  ++calls;
  return std::to_string(calls);
}

TEST(LruCache, KeepsTheLastOnesWithinBounds) {
  LruCache<std::string> cache(
      2, 100, [](const std::string &text) { return text.size(); });
  int calls = 0;
  auto get = [&](llvm::StringRef key) {
    return llvm::cantFail(cache.get(key, [&] { return makeText(calls); }));
  };
  EXPECT_EQ(get("a"), "1");
  EXPECT_EQ(get("b"), "2");
  EXPECT_EQ(get("a"), "1");
  EXPECT_EQ(get("c"), "3"); // b was used least lately.
  EXPECT_EQ(get("a"), "1");
  EXPECT_EQ(get("b"), "4");
  EXPECT_EQ(cache.hits(), 2u);
  cache.clear();
  EXPECT_EQ(get("b"), "5");
}

TEST(LruCache, KeepsNoErrorsAndNothingTooLarge) {
  LruCache<std::string> cache(
      8, 3, [](const std::string &text) { return text.size(); });
  auto fail = [&]() -> llvm::Expected<std::string> {
    return llvm::createStringError("no");
  };
  auto failed = cache.get("a", fail);
  EXPECT_FALSE(bool(failed));
  llvm::consumeError(failed.takeError());
  int calls = 0;
  auto make = [&]() -> llvm::Expected<std::string> {
    ++calls;
    return std::string("long");
  };
  llvm::cantFail(cache.get("a", make));
  llvm::cantFail(cache.get("a", make));
  EXPECT_EQ(calls, 2);
  auto two = [&]() -> llvm::Expected<std::string> { return std::string("ab"); };
  llvm::cantFail(cache.get("b", two));
  llvm::cantFail(cache.get("c", two)); // b goes: four bytes are too many.
  llvm::cantFail(cache.get("b", two));
  EXPECT_EQ(cache.hits(), 0u);
}

TEST(CompileCache, SecondRequestIsFreeAndKeysDiffer) {
  clearCompileCache();
  Shape source = parse("f32[40,24]{1,0}"),
        destination = parse("f32[40,24]{0,1}");
  CompileOptions options;
  std::string object = llvm::cantFail(
      compileRelayout(source, destination, EmitKind::Object, options));
  uint64_t before = getNumCacheHits();
  EXPECT_EQ(llvm::cantFail(compileRelayout(source, destination,
                                           EmitKind::Object, options)),
            object);
  EXPECT_EQ(getNumCacheHits(), before + 1);

  // Every option makes a request of its own.
  std::vector<CompileOptions> others(15, options);
  others[0].symbol = "other";
  others[1].optLevel = 1;
  others[2].cpu = "x86-64";
  others[3].vectorize = false;
  others[4].vectorBytes = 16;
  others[5].nontemporalBytes = 64;
  others[6].threads = 3;
  others[7].parallelBytes = 7;
  others[8].openMPLibrary = "x";
  others[9].triple = "aarch64-linux-gnu";
  others[10].tuning.rowBytes = 128;
  others[11].tuning.nontemporal = false;
  others[12].tuning.prefetch = 0;
  others[13].tuning.costsOf = "";
  auto machine = std::make_shared<MachineProfile>();
  machine->cpu = llvm::sys::getHostCPUName();
  others[14].machine = machine;
  for (const CompileOptions &other : others)
    llvm::cantFail(compileRelayout(source, destination, EmitKind::Plan, other));
  llvm::cantFail(
      compileRelayout(destination, source, EmitKind::Object, options));
  llvm::cantFail(compileRelayout(source, source, EmitKind::Object, options));
  EXPECT_EQ(getNumCacheHits(), before + 1);
}

TEST(CompileCache, ServesManyThreads) {
  clearCompileCache();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int size = 2; size < 6; ++size) {
        std::string dims = "[" + std::to_string(size) + ",3]";
        auto function = llvm::cantFail(getRelayoutFunction(
            parse("u8" + dims + "{1,0}"), parse("u8" + dims + "{0,1}")));
        std::vector<uint8_t> in(3 * size), out(3 * size);
        for (size_t i = 0; i < in.size(); ++i)
          in[i] = i;
        function(in.data(), out.data());
        wrong += out[size + 1] != 4;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  clearCompileCache();
}

/// The code of `symbol` in an object file. The tables behind it are addressed
/// by relocations, whose positions are set to zero; `holes` lists them.
static std::string getCode(llvm::StringRef object, llvm::StringRef symbol,
                           std::vector<uint64_t> &holes) {
  auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(object, "")));
  for (const llvm::object::SymbolRef &candidate : file->symbols()) {
    if (llvm::cantFail(candidate.getName()) != symbol)
      continue;
    auto section = *llvm::cantFail(candidate.getSection());
    uint64_t begin = llvm::cantFail(candidate.getValue());
    uint64_t size = llvm::object::ELFSymbolRef(candidate).getSize();
    for (const llvm::object::SectionRef &other : file->sections())
      if (llvm::cantFail(other.getRelocatedSection()) == section)
        for (const llvm::object::RelocationRef &relocation :
             other.relocations())
          holes.push_back(relocation.getOffset() - begin);
    return llvm::cantFail(section.getContents()).substr(begin, size).str();
  }
  return "";
}

// The code that runs in this process is the code of the object file.
TEST(CompiledModule, IsTheCodeOfTheObjectFile) {
  for (auto [from, to] :
       {std::pair("f32[300,200]{1,0}", "f32[300,200]{0,1}"),
        std::pair("bf16[64,256]{1,0}", "bf16[64,256]{1,0:T(8,128)(2,1)}"),
        std::pair("f32[2048,2048]{1,0}", "f32[2048,2048]{0,1}"),
        std::pair("f32[12]{0:T(3)}", "f32[12]{0:T(4)}")}) {
    SCOPED_TRACE(std::string(from) + " to " + to);
    std::string object = llvm::cantFail(
        compileRelayout(parse(from), parse(to), EmitKind::Object));
    std::vector<uint64_t> holes;
    std::string code = getCode(object, CompileOptions().symbol, holes);
    ASSERT_FALSE(code.empty());
    clearCompileCache();
    auto function = llvm::cantFail(getRelayoutFunction(parse(from), parse(to)));
    const char *loaded = reinterpret_cast<const char *>(function.getAddress());
    std::string found(loaded, loaded + code.size());
    for (uint64_t hole : holes)
      for (uint64_t i = hole; i < std::min<uint64_t>(hole + 8, code.size());
           ++i)
        code[i] = found[i] = 0;
    EXPECT_TRUE(code == found);
  }
}

//===- LruCache.h - The results of the last requests ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COMPILE_LRUCACHE_H
#define TESSERA_LIB_COMPILE_LRUCACHE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <list>
#include <mutex>
#include <string>

namespace tessera {

/// Values by name: the ones used last, within bounds on their number and on the
/// sum of their sizes. Any number of threads may ask at once; two that ask for
/// the same new value may both make it.
template <typename T> class LruCache {
public:
  using SizeFn = size_t(const T &);

  LruCache(size_t maxEntries, size_t maxSize, SizeFn *getSize)
      : maxEntries(maxEntries), maxSize(maxSize), getSize(getSize) {}

  /// The value named `key`, by `make` where there is none yet. Errors are those
  /// of `make`, and are not kept.
  llvm::Expected<T> get(llvm::StringRef key,
                        llvm::function_ref<llvm::Expected<T>()> make) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (auto found = index.find(key); found != index.end()) {
        entries.splice(entries.begin(), entries, found->second);
        ++numHits;
        return entries.front().value;
      }
    }
    llvm::Expected<T> value = make();
    if (value)
      insert(key, *value);
    return value;
  }

  uint64_t hits() {
    std::lock_guard<std::mutex> lock(mutex);
    return numHits;
  }

  void clear() {
    std::lock_guard<std::mutex> lock(mutex);
    entries.clear();
    index.clear();
    size = 0;
  }

private:
  struct Entry {
    std::string key;
    T value;
  };

  void insert(llvm::StringRef key, const T &value) {
    std::lock_guard<std::mutex> lock(mutex);
    if (index.contains(key) || getSize(value) > maxSize)
      return;
    entries.push_front({key.str(), value});
    index[key] = entries.begin();
    size += getSize(value);
    while (entries.size() > maxEntries || size > maxSize) {
      size -= getSize(entries.back().value);
      index.erase(entries.back().key);
      entries.pop_back();
    }
  }

  const size_t maxEntries, maxSize;
  SizeFn *const getSize;
  std::mutex mutex;
  /// The last one used first.
  std::list<Entry> entries;
  llvm::StringMap<typename std::list<Entry>::iterator> index;
  size_t size = 0;
  uint64_t numHits = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_COMPILE_LRUCACHE_H

//===- FatalErrors.cpp - LLVM's fatal errors as a Status ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <mutex>

using namespace decant;

namespace {

struct FatalError {
  std::string reason;
};

thread_local bool recovering = false;

/// LLVM has one handler per process. It is ours while a thread of ours
/// generates code, and LLVM's default again afterwards.
class HandlerScope {
public:
  HandlerScope() {
    std::lock_guard<std::mutex> guard(lock());
    if (count()++ == 0)
      llvm::install_fatal_error_handler(handle);
    recovering = true;
  }
  ~HandlerScope() {
    recovering = false;
    std::lock_guard<std::mutex> guard(lock());
    if (--count() == 0)
      llvm::remove_fatal_error_handler();
  }
  HandlerScope(const HandlerScope &) = delete;
  HandlerScope &operator=(const HandlerScope &) = delete;

private:
  static std::mutex &lock() {
    static std::mutex mutex;
    return mutex;
  }
  static int &count() {
    static int scopes = 0;
    return scopes;
  }
  // LLVM's frames carry unwind tables but no clean-up: an exception passes
  // through them and leaks what they held.
  static void handle(void *, const char *reason, bool) {
    if (recovering)
      throw FatalError{reason};
  }
};

} // namespace

Status decant::recoverFatalErrors(llvm::function_ref<Status()> body) {
  const void *stack = llvm::SavePrettyStackState();
  HandlerScope scope;
  try {
    return body();
  } catch (const FatalError &error) {
    llvm::RestorePrettyStackState(stack);
    return Status::failed("LLVM gave up: " + error.reason);
  }
}

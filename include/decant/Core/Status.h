//===- Status.h - errors as values ------------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every fallible function of Decant returns a Status or an Expected<T>. Library
// code neither prints nor exits; the tools decide what to do with a message.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_STATUS_H
#define DECANT_CORE_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace decant {

enum class StatusCode {
  Ok = 0,
  JobFailed = 1,    // the input was fine, the work did not succeed
  InvalidInput = 2, // a spec, trace, file or argument is wrong
  Unavailable = 3,  // no driver, no device, a driver that is too old
  Internal = 4,     // a mistake of Decant's own
};

/// Success, or a code with one paragraph that names the file, field or
/// argument, what was found and what is allowed.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : statusCode(code), text(std::move(message)) {}

  static Status invalid(std::string message) {
    return {StatusCode::InvalidInput, std::move(message)};
  }
  static Status failed(std::string message) {
    return {StatusCode::JobFailed, std::move(message)};
  }
  static Status unavailable(std::string message) {
    return {StatusCode::Unavailable, std::move(message)};
  }
  static Status internal(std::string message) {
    return {StatusCode::Internal, std::move(message)};
  }

  bool ok() const { return statusCode == StatusCode::Ok; }
  StatusCode code() const { return statusCode; }
  const std::string &message() const { return text; }

  /// The same error with `prefix` and ": " in front of its message.
  Status within(const std::string &prefix) const {
    return ok() ? *this : Status(statusCode, prefix + ": " + text);
  }

private:
  StatusCode statusCode = StatusCode::Ok;
  std::string text;
};

/// A value or the Status that says why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : held(std::move(value)) {}
  Expected(Status status) : error(std::move(status)) {
    assert(!error.ok() && "an Expected without a value needs an error");
  }

  bool ok() const { return held.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return error; }

  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }
  T take() { return std::move(*held); }

private:
  std::optional<T> held;
  Status error;
};

/// Returns the error of `expr` (a Status) from the enclosing function.
#define DECANT_TRY(expr)                                                       \
  do {                                                                         \
    if (::decant::Status decantStatus_ = (expr); !decantStatus_.ok())          \
      return decantStatus_;                                                    \
  } while (false)

#define DECANT_CONCAT_IMPL(a, b) a##b
#define DECANT_CONCAT(a, b) DECANT_CONCAT_IMPL(a, b)

/// Declares `decl` from the value of `expr` (an Expected), or returns its
/// error.
#define DECANT_ASSIGN(decl, expr)                                              \
  auto DECANT_CONCAT(decantExpected_, __LINE__) = (expr);                      \
  if (!DECANT_CONCAT(decantExpected_, __LINE__).ok())                          \
    return DECANT_CONCAT(decantExpected_, __LINE__).status();                  \
  decl = DECANT_CONCAT(decantExpected_, __LINE__).take()

} // namespace decant

#endif // DECANT_CORE_STATUS_H

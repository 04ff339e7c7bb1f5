//===- Verify.h - is a kernel right? ------------------------------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a program, however its kernels were made. Out: how far what it decodes on
// scratch slots is from two oracles, the float64 interpreter of the rule with
// the codecs of lib/Reference, and, on a CUDA device, the rule as plain CUDA
// C++ under NVRTC; and whether that is within bounds (Bounds.h). Never touches
// a slot or a tensor of the caller's.
//
// A tuner asks once per candidate:
//
//   DECANT_TRY(checkAgainstOracle(spec, device, *candidate));
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_VERIFY_H
#define DECANT_LIB_VERIFY_VERIFY_H

#include "Bounds.h"
#include "decant/Runtime/Nvrtc.h"
#include "decant/Runtime/Program.h"

#include <optional>

namespace decant {

class CudaOracle;

/// Whether the rows of a batch have windows of one fill, or join one after the
/// other, so that fills differ and rows are padding until they join.
enum class Fills { Equal, Mixed };
const char *toString(Fills fills);

struct VerifyCase {
  int64_t batch = 1;
  Fills fills = Fills::Equal;
};
/// Every batch with every kind of fills that the spec's windows and padding
/// allow.
std::vector<VerifyCase> verifyGrid(const DecodeSpec &spec,
                                   const std::vector<int64_t> &batches);

/// One row, some, and for every rule of a program with variants the fewest rows
/// that it applies to, as far as those are few.
std::vector<int64_t> verifyBatches(const Program &program);

struct VerifyResult {
  VerifyCase situation;
  int64_t steps = 0;
  int64_t tokens = 0, states = 0, folds = 0; // of heads, that were compared
  /// Relative errors: of outputs, of states and carried vectors after a step
  /// without a fold, and of states through a fold beside what the float64 codec
  /// loses of the same ones.
  double output = 0, state = 0, fold = 0, codec = 0;
  /// The first two against the CUDA oracle, where there is one, and of the two
  /// oracles against one another.
  struct Oracle {
    double output = 0, state = 0, disagreement = 0;
  };
  std::optional<Oracle> oracle;
  VerifyBounds bounds;
  /// Why the case fails; empty if it does not.
  std::string failure;
  bool ok() const { return failure.empty(); }
};

/// Whether the CUDA oracle runs on a CUDA device. No other device has one.
enum class OraclePolicy {
  Require,   // without NVRTC nothing can be verified
  IfPresent, // without NVRTC the float64 reference alone has to do
  None,
};

struct VerifyOptions {
  OraclePolicy oracle = OraclePolicy::Require;
  std::string nvrtc;    // its file; found by itself when empty
  unsigned threads = 1; // that compute the float64 reference
};

/// The oracles of one spec on one device, for any number of programs of it.
class Verifier {
public:
  static Expected<Verifier> create(const DecodeSpec &spec,
                                   std::shared_ptr<Device> device,
                                   const VerifyOptions &options = {});
  /// With a CUDA oracle that was made by other means; null for none.
  static Expected<Verifier> create(const DecodeSpec &spec,
                                   std::shared_ptr<Device> device,
                                   std::unique_ptr<CudaOracle> oracle,
                                   const std::string &oracleName,
                                   unsigned threads = 1);
  Verifier(Verifier &&) noexcept;
  Verifier &operator=(Verifier &&) noexcept;
  ~Verifier();

  /// Decodes a window and a bit of it in every row, then flushes. A Status is
  /// for what kept the case from being run; what came out wrong is a result.
  Expected<VerifyResult> check(const Program &program,
                               const VerifyCase &situation);
  /// NVRTC's library and version; empty without a CUDA oracle.
  const std::string &oracleName() const;

private:
  struct Impl;
  explicit Verifier(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Ok if a program of `spec` on `device` is right with all of verifyBatches();
/// JobFailed with the first case that is not.
Status checkAgainstOracle(const DecodeSpec &spec,
                          std::shared_ptr<Device> device,
                          const Program &program,
                          const VerifyOptions &options = {
                              OraclePolicy::IfPresent, {}});

} // namespace decant

#endif // DECANT_LIB_VERIFY_VERIFY_H

//===- CaseRun.h - one case, step by step -------------------------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row i of the batch decodes sequence i % 3, so that rows of one sequence must
// agree to the bit, and one of each is compared with the oracles. Before every
// token those start from the state that the kernel had stored.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_CASERUN_H
#define DECANT_LIB_VERIFY_CASERUN_H

#include "CudaOracle.h"
#include "Reference/RelativeNorm.h"
#include "ReferenceProgram.h"
#include "StoredSlot.h"
#include "TestedLayer.h"
#include "Verify.h"

namespace decant {

class CaseRun {
public:
  /// What is passed must outlive the result; `oracle` may be null. Heads are
  /// compared on `threads` threads; the errors do not depend on how many.
  CaseRun(const DecodeSpec &spec, const Program &program,
          ReferencePrograms programs, const SyntheticTokens &tokens,
          TestedLayer &layer, CudaOracle *oracle, unsigned threads);

  Expected<VerifyResult> run(const VerifyCase &situation);

private:
  struct Sequence {
    int64_t delay = 0; // steps before its first token
    int64_t done = 0;  // accepted tokens
    int offered = 0;   // in this step
    int accepted = 0;  // of those
    std::optional<StoredSlot> before;
  };
  /// What the CUDA oracle makes of one token of a sequence.
  struct OracleToken {
    std::vector<double> outputs;
    DenseStates states;
  };

  /// What one head adds to the result.
  struct Sums {
    RelativeNorm output, state, beside, fold, codec;
    RelativeNorm oracleOutput, oracleState, disagreement;
    int64_t tokens = 0, states = 0, folds = 0;

    void add(const Sums &other);
  };
  /// Calls work(head, programs) for every head, each of them once.
  template <typename Work> void forHeads(const Work &work);

  bool several() const { return program.info().tokensPerStep > 1; }
  int heads() const { return spec.heads.value; }
  void planStep(int64_t step);
  Status stepRows();
  Status readSlots(std::vector<StoredSlot> &slots);
  void compareRows();
  void compareStep(const std::vector<StoredSlot> &drafted,
                   const std::vector<StoredSlot> &after);
  void startStep(int number, const StoredSlot &drafted,
                 const std::vector<bool> &folded);
  bool foldsFirst(int number, int head, const StoredSlot &drafted,
                  bool &foldsLast);
  Status compareTokens(const std::vector<StoredSlot> &after);
  void compareOutputs(int number, int token, int head,
                      const std::vector<double> &expected);
  void compareState(int number, int head, const StoredSlot &after);
  void compareFold(int head, const std::vector<double> &from,
                   const std::vector<double> &folded,
                   const StoredSlot &counted);
  /// One token of every sequence that has so many.
  Status runOracle(int token);
  void compareOracles(int number, int head, const std::vector<double> &outputs,
                      const std::vector<double> &state,
                      const std::vector<double> &carried);
  Status finish();
  void judge();
  void fail(std::string what);

  const DecodeSpec &spec;
  const Program &program;
  std::vector<ReferencePrograms> programs; // of each thread
  const SyntheticTokens &tokens;
  TestedLayer &layer;
  CudaOracle *oracle;
  const SlotLayout &layout;

  int64_t rows = 0;
  std::vector<Sequence> sequences;
  /// Of each sequence: the states of its heads as float64 has them, and whether
  /// the last token of this step folds them.
  std::vector<DenseStates> states;
  std::vector<bool> foldsAfter;
  std::vector<OracleToken> oracleTokens; // of each sequence
  VerifyResult result;
  std::vector<Sums> sums; // of each head
};

} // namespace decant

#endif // DECANT_LIB_VERIFY_CASERUN_H

//===- CaseRun.cpp - one case, step by step -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseRun.h"

#include "Core/Parallel.h"
#include "decant/Core/Numeric.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>

using namespace decant;

namespace {

constexpr int kSequences = 3;
/// Behind a window, so that folded states are read too.
constexpr int64_t kTokensBehindWindow = 4;
/// float64 against float64 through one token: 2^-53 = 1e-16 a rounding, a few
/// hundred of them in a sum, and functions that are off by one more.
constexpr double kOracles = 1e-12;

} // namespace

CaseRun::CaseRun(const DecodeSpec &spec, const Program &program,
                 ReferencePrograms programs, const SyntheticTokens &tokens,
                 TestedLayer &layer, CudaOracle *oracle, unsigned threads)
    : spec(spec), program(program),
      programs(std::clamp<size_t>(threads, 1, spec.heads.value), programs),
      tokens(tokens), layer(layer), oracle(oracle), layout(program.layout()),
      sums(spec.heads.value) {}

void CaseRun::Sums::add(const Sums &other) {
  output.add(other.output);
  state.add(other.state);
  beside.add(other.beside);
  fold.add(other.fold);
  codec.add(other.codec);
  oracleOutput.add(other.oracleOutput);
  oracleState.add(other.oracleState);
  disagreement.add(other.disagreement);
  tokens += other.tokens;
  states += other.states;
  folds += other.folds;
}

template <typename Work> void CaseRun::forHeads(const Work &work) {
  const size_t threads = programs.size();
  parallelFor(threads, unsigned(threads), [&](size_t mine) {
    for (int head = int(mine); head < heads(); head += int(threads))
      work(head, programs[mine]);
  });
}

Expected<VerifyResult> CaseRun::run(const VerifyCase &situation) {
  result.situation = situation;
  result.bounds = verifyBounds(spec, layout, program.info());
  rows = situation.batch;
  sequences.resize(std::min<int64_t>(rows, kSequences));
  for (size_t i = 0; i < sequences.size(); ++i)
    if (situation.fills == Fills::Mixed)
      sequences[i].delay = int64_t(i) * (layout.window / kSequences + 1);
  std::vector<StoredSlot> slots;
  DECANT_TRY(readSlots(slots));
  for (size_t i = 0; i < sequences.size(); ++i)
    sequences[i].before = slots[i];

  const int64_t wanted = layout.window + kTokensBehindWindow;
  auto unfinished = [&](const Sequence &sequence) {
    return sequence.done < wanted;
  };
  while (std::any_of(sequences.begin(), sequences.end(), unfinished) &&
         result.ok()) {
    planStep(result.steps);
    DECANT_TRY(stepRows());
    ++result.steps;
  }
  DECANT_TRY(finish());
  judge();
  return result;
}

/// Up to all tokens of a step, in turn fewer; of every other offer the first
/// half is accepted.
void CaseRun::planStep(int64_t step) {
  const int most = program.info().tokensPerStep;
  for (size_t i = 0; i < sequences.size(); ++i) {
    Sequence &sequence = sequences[i];
    sequence.offered = sequence.accepted = 0;
    if (step < sequence.delay)
      continue;
    const int64_t turn = step + int64_t(i);
    sequence.offered = most - int(turn % most);
    sequence.accepted =
        turn % 2 == 0 ? sequence.offered : (sequence.offered + 1) / 2;
  }
}

Status CaseRun::stepRows() {
  std::vector<TestedLayer::RowTokens> now(rows);
  std::vector<int32_t> accepted(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const int number = int(row % int64_t(sequences.size()));
    const Sequence &sequence = sequences[number];
    now[row] = {number, sequence.done, sequence.offered};
    accepted[row] = sequence.accepted;
  }
  DECANT_TRY(layer.step(now));
  compareRows();
  std::vector<StoredSlot> drafted, after;
  if (several()) {
    DECANT_TRY(readSlots(drafted));
    DECANT_TRY(layer.commit(accepted));
  }
  DECANT_TRY(readSlots(after));
  compareStep(several() ? drafted : after, after);
  DECANT_TRY(compareTokens(after));
  for (size_t i = 0; i < sequences.size(); ++i) {
    sequences[i].done += sequences[i].accepted;
    sequences[i].before = std::move(after[i]);
  }
  return {};
}

Status CaseRun::readSlots(std::vector<StoredSlot> &slots) {
  for (size_t i = 0; i < sequences.size(); ++i) {
    DECANT_ASSIGN(std::vector<uint8_t> bytes, layer.slot(int64_t(i)));
    slots.emplace_back(layout, std::move(bytes));
  }
  return {};
}

/// Outputs do not depend on where in the batch a row is.
void CaseRun::compareRows() {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row % int64_t(sequences.size());
    const Sequence &sequence = sequences[first];
    if (sequence.offered == 0 && !several() && !layer.paddingIsZero(row))
      fail(fmt::format("the output of row {}, a padding row, is not 0", row));
    for (int token = 0; token < sequence.offered; ++token)
      if (std::memcmp(layer.output(row, token), layer.output(first, token),
                      layer.outputBytes()) != 0)
        fail(fmt::format("step {}: rows {} and {} decode the same sequence and "
                         "have different outputs",
                         result.steps, row, first));
  }
}

/// Finds out what a step did to each window, and sets `states` to what its
/// tokens started from.
void CaseRun::compareStep(const std::vector<StoredSlot> &drafted,
                          const std::vector<StoredSlot> &after) {
  states.assign(sequences.size(), {});
  foldsAfter.assign(sequences.size(), false);
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Sequence &sequence = sequences[i];
    const StoredSlot &before = *sequence.before;
    if (sequence.offered == 0) {
      // A row of no tokens is no padding row: an all-zero slot gets a header.
      const int64_t from = several() ? kSlotHeaderBytes : 0;
      if (!std::equal(before.bytes().begin() + from, before.bytes().end(),
                      after[i].bytes().begin() + from))
        fail(fmt::format("step {}: the slot of row {}, which has no token, was "
                         "written",
                         result.steps, i));
      continue;
    }
    std::vector<bool> folded(heads());
    for (int head = 0; head < heads(); ++head) {
      bool foldsLast = false;
      folded[head] = foldsFirst(int(i), head, drafted[i], foldsLast);
      foldsAfter[i] = foldsAfter[i] || foldsLast;
    }
    startStep(int(i), drafted[i], folded);
  }
}

/// Whether a head's window was folded before the tokens, or by the last one.
bool CaseRun::foldsFirst(int number, int head, const StoredSlot &drafted,
                         bool &foldsLast) {
  const uint32_t window = uint32_t(layout.window);
  const uint32_t old = sequences[number].before->fill(head);
  const uint32_t now = drafted.fill(head);
  // With drafts the fill is moved by a commit only.
  const uint32_t added = several() ? 0 : 1;
  if (window == 1 || (!several() && old + 1 == window && now == 0)) {
    foldsLast = true;
    return false;
  }
  if (now == old + added)
    return false;
  if (now != added || (!several() && old != window))
    fail(fmt::format("step {}: the fill of row {}, head {} went from {} to {}",
                     result.steps, number, head, old, now));
  return true;
}

void CaseRun::startStep(int number, const StoredSlot &drafted,
                        const std::vector<bool> &folded) {
  const StoredSlot &before = *sequences[number].before;
  const int64_t size = int64_t(layout.keyDim) * layout.valueDim;
  const int64_t carried = programs[0].exact.carriedSize();
  DenseStates &start = states[number];
  start.states.resize(heads() * size);
  start.carried.resize(heads() * carried);
  forHeads([&](int head, ReferencePrograms &) {
    double *mine = start.states.data() + head * size;
    const std::vector<double> &held = before.state(head);
    if (folded[head]) {
      const std::vector<double> checkpoint = drafted.checkpoint(head);
      compareFold(head, held, checkpoint, before);
      std::copy(checkpoint.begin(), checkpoint.end(), mine);
    } else {
      std::copy(held.begin(), held.end(), mine);
    }
    const std::vector<double> beside = before.carried(head);
    std::copy(beside.begin(), beside.end(),
              start.carried.data() + head * carried);
  });
}

void CaseRun::compareFold(int head, const std::vector<double> &from,
                          const std::vector<double> &folded,
                          const StoredSlot &counted) {
  Sums &mine = sums[head];
  mine.fold.add(folded, from);
  mine.codec.add(counted.throughCodec(head, from), from);
  ++mine.folds;
}

/// Runs the oracles over the tokens of a step.
Status CaseRun::compareTokens(const std::vector<StoredSlot> &after) {
  const int64_t size = int64_t(layout.keyDim) * layout.valueDim;
  const int64_t carried = programs[0].exact.carriedSize();
  for (int token = 0; token < program.info().tokensPerStep; ++token) {
    DECANT_TRY(runOracle(token));
    for (size_t i = 0; i < sequences.size(); ++i) {
      const Sequence &sequence = sequences[i];
      if (token >= sequence.offered)
        continue;
      const auto now = tokens.token(int(i), sequence.done + token);
      const bool last = token + 1 == sequence.accepted;
      forHeads([&](int head, ReferencePrograms &own) {
        const auto inputs = tokens.ofHead(now, head);
        double *stored = states[i].states.data() + head * size;
        double *besideIt = states[i].carried.data() + head * carried;
        std::vector<double> plain(stored, stored + size),
            plainBeside(besideIt, besideIt + carried),
            expected(layout.valueDim), unused(layout.valueDim);
        own.exact.step(inputs, plain.data(), expected.data(),
                       plainBeside.data());
        own.stored.step(inputs, stored, unused.data(), besideIt);
        compareOutputs(int(i), token, head, expected);
        if (oracle)
          compareOracles(int(i), head, expected, plain, plainBeside);
        ++sums[head].tokens;
        if (last)
          compareState(int(i), head, after[i]);
      });
    }
  }
  return {};
}

void CaseRun::compareOutputs(int number, int token, int head,
                             const std::vector<double> &expected) {
  const ElementType type = spec.inputs.output;
  const int64_t first = int64_t(head) * layout.valueDim;
  const uint8_t *bytes =
      layer.output(number, token) + first * elementBytes(type);
  for (int v = 0; v < layout.valueDim; ++v) {
    const double x = loadElement(type, bytes + v * elementBytes(type));
    sums[head].output.add(beyondRounding(type, x, expected[v]), expected[v]);
    if (oracle) {
      const double other = oracleTokens[number].outputs[first + v];
      sums[head].oracleOutput.add(beyondRounding(type, x, other), other);
    }
  }
}

/// After the accepted tokens of a step.
void CaseRun::compareState(int number, int head, const StoredSlot &after) {
  const int64_t size = int64_t(layout.keyDim) * layout.valueDim;
  const int64_t carried = programs[0].exact.carriedSize();
  Sums &mine = sums[head];
  const double *expected = states[number].states.data() + head * size;
  const std::vector<double> &found = after.state(head);
  if (foldsAfter[number]) {
    // A window's last token is counted before its fold, a token without a
    // window after it.
    compareFold(head, {expected, expected + size}, found,
                layout.window > 1 ? after : *sequences[number].before);
  } else {
    ++mine.states;
    mine.state.add(found, expected);
    if (oracle)
      mine.oracleState.add(found, oracleTokens[number].states.states.data() +
                                      head * size);
  }
  mine.beside.add(after.carried(head),
                  states[number].carried.data() + head * carried);
}

Status CaseRun::runOracle(int token) {
  if (!oracle)
    return {};
  oracleTokens.assign(sequences.size(), {});
  std::vector<size_t> numbers;
  std::vector<SyntheticTokens::Token> now;
  DenseStates all;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (token >= sequences[i].offered)
      continue;
    numbers.push_back(i);
    now.push_back(tokens.token(int(i), sequences[i].done + token));
    all.states.insert(all.states.end(), states[i].states.begin(),
                      states[i].states.end());
    all.carried.insert(all.carried.end(), states[i].carried.begin(),
                       states[i].carried.end());
  }
  if (numbers.empty())
    return {};
  DECANT_ASSIGN(const std::vector<double> outputs,
                oracle->step(tokens, now, all));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto part = [&](const std::vector<double> &values) {
      const int64_t width = int64_t(values.size() / numbers.size());
      const auto first = values.begin() + int64_t(i) * width;
      return std::vector<double>(first, first + width);
    };
    oracleTokens[numbers[i]] = {part(outputs),
                                {part(all.states), part(all.carried)}};
  }
  return {};
}

void CaseRun::compareOracles(int number, int head,
                             const std::vector<double> &outputs,
                             const std::vector<double> &state,
                             const std::vector<double> &carried) {
  const OracleToken &other = oracleTokens[number];
  const auto compare = [&](const std::vector<double> &all,
                           const std::vector<double> &expected) {
    const auto first = all.begin() + head * int64_t(expected.size());
    sums[head].disagreement.add({first, first + int64_t(expected.size())},
                                expected);
  };
  compare(other.outputs, outputs);
  compare(other.states.states, state);
  compare(other.states.carried, carried);
}

/// Flushes, and looks at everything once more.
Status CaseRun::finish() {
  DECANT_TRY(layer.flush());
  std::vector<StoredSlot> flushed;
  DECANT_TRY(readSlots(flushed));
  for (size_t i = 0; i < sequences.size(); ++i) {
    const StoredSlot &before = *sequences[i].before;
    for (int head = 0; head < heads(); ++head)
      if (flushed[i].fill(head) != 0)
        fail(fmt::format("a flush left {} tokens in the window of row {}",
                         flushed[i].fill(head), i));
    std::atomic<bool> changed{false};
    forHeads([&](int head, ReferencePrograms &) {
      const std::vector<double> &from = before.state(head);
      if (before.fill(head) > 0)
        compareFold(head, from, flushed[i].state(head), before);
      else if (from != flushed[i].state(head))
        changed = true;
    });
    if (changed)
      fail(fmt::format("a flush changed the state of row {}, whose window is "
                       "empty",
                       i));
  }
  for (int64_t row = int64_t(sequences.size()); row < rows; ++row) {
    DECANT_ASSIGN(const std::vector<uint8_t> bytes, layer.slot(row));
    const int64_t first = row % int64_t(sequences.size());
    if (bytes != flushed[first].bytes())
      fail(fmt::format("rows {} and {} decoded the same sequence and have "
                       "different slots",
                       row, first));
  }
  if (const Status poison = layer.checkPoison(); !poison.ok())
    fail(poison.message());
  return {};
}

void CaseRun::fail(std::string what) {
  if (result.failure.empty()) // what comes after the first may follow from it
    result.failure = std::move(what);
}

void CaseRun::judge() {
  Sums all;
  for (const Sums &head : sums)
    all.add(head);
  result.tokens = all.tokens;
  result.states = all.states;
  result.folds = all.folds;
  result.output = all.output.value();
  result.state = std::max(all.state.value(), all.beside.value());
  if (std::isnan(all.beside.value()))
    result.state = all.beside.value();
  result.fold = all.fold.value();
  result.codec = all.codec.value();
  const VerifyBounds &bounds = result.bounds;
  const auto expect = [&](const char *what, double found, double bound) {
    if (!(found <= bound)) // a NaN is beyond every bound
      fail(fmt::format("{} is {:.1e}, the bound {:.1e}", what, found, bound));
  };
  expect("the outputs' error", result.output, bounds.output);
  expect("the states' error", result.state, bounds.state);
  expect("the error of folds", result.fold, bounds.fold(result.codec));
  if (!oracle)
    return;
  result.oracle =
      VerifyResult::Oracle{all.oracleOutput.value(), all.oracleState.value(),
                           all.disagreement.value()};
  expect("the outputs' error against the CUDA oracle", result.oracle->output,
         bounds.output);
  expect("the states' error against the CUDA oracle", result.oracle->state,
         bounds.plainState);
  expect("the two oracles' disagreement", result.oracle->disagreement,
         kOracles);
}

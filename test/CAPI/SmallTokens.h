//===- SmallTokens.h - several tokens per step, checked in double -*- C -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a host that verifies drafts does: offers each row some tokens, accepts
// the first of them and goes on from there, with other tokens.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_CAPI_SMALLTOKENS_H
#define DECANT_TEST_CAPI_SMALLTOKENS_H

#include "SmallLayer.h"

enum { kMost = 3, kRounds = 12, kPacked = kRows * kMost };

/* SmallLayer.h has the oracle, the bound and its reason. */
static void checkTokens(DecantProgram *program) {
  static double exact[kRows][kHeads][kKey][kValue];
  static double tried[kHeads][kKey][kValue], expected[kHeads * kValue];
  static float q[kPacked][kKeyHeads * kKey], k[kPacked][kKeyHeads * kKey];
  static float v[kPacked][kHeads * kValue], out[kPacked][kHeads * kValue];
  static float g[kPacked][kHeads], beta[kPacked][kHeads];
  const int32_t slots[kRows] = {2, -1, 0, 3};
  int32_t offsets[kRows + 1], accepted[kRows];
  DecantProgramInfo info = DECANT_INIT(DecantProgramInfo);
  DecantStepCall call = DECANT_INIT(DecantStepCall);
  DecantCommitCall commit = DECANT_INIT(DecantCommitCall);
  unsigned char *pool;
  double error = 0, largest = 0;
  int round, row, token, i;

  OK(decantProgramQuery(program, &info));
  EXPECT(info.tokens_per_step == kMost);
  if (posix_memalign((void **)&pool, 256, (size_t)info.slot_bytes * kSlots))
    exit(2);
  memset(pool, 0, (size_t)info.slot_bytes * kSlots);
  memset(exact, 0, sizeof(exact));
  call.pool.state = pool;
  call.pool.slot_count = kSlots;
  call.rows.slots = slots;
  call.rows.rows = kRows;
  call.q.data = q;
  call.k.data = k;
  call.v.data = v;
  call.decay.data = g;
  call.beta.data = beta;
  call.out = out;
  INVALID(decantProgramStep(program, &call), "\"cu_seqlens\" is null");
  call.cu_seqlens = offsets;
  commit.pool = call.pool;
  commit.rows = call.rows;
  INVALID(decantProgramCommit(program, &commit), "\"accepted\" is null");
  commit.accepted = accepted;
  for (round = 0; round < kRounds; ++round) {
    offsets[0] = 0;
    for (row = 0; row < kRows; ++row) {
      const int count = (round + 2 * row) % (kMost + 1);
      offsets[row + 1] = offsets[row] + count;
      accepted[row] = count - (round + row) % (count + 1);
    }
    OK(decantProgramCheckTokens(program, offsets, accepted, kRows));
    fill(q[0], sizeof(q) / sizeof(float), -1, 1);
    fill(k[0], sizeof(k) / sizeof(float), -1, 1);
    fill(v[0], sizeof(v) / sizeof(float), -1, 1);
    fill(g[0], sizeof(g) / sizeof(float), -0.2, 0);
    fill(beta[0], sizeof(beta) / sizeof(float), 0, 1);
    memset(out, 0xff, sizeof(out));
    OK(decantProgramStep(program, &call));
    OK(decantProgramCommit(program, &commit));
    for (row = 0; row < kRows; ++row) {
      memcpy(tried, exact[row], sizeof(tried));
      for (token = offsets[row]; token < offsets[row + 1]; ++token) {
        memset(expected, 0, sizeof(expected)); /* a padding row's output */
        if (slots[row] >= 0)
          exactStep(tried, q[token], k[token], v[token], g[token], beta[token],
                    expected);
        if (token - offsets[row] < accepted[row])
          memcpy(exact[row], tried, sizeof(tried));
        for (i = 0; i < kHeads * kValue; ++i) {
          const double difference = fabs(out[token][i] - expected[i]);
          EXPECT(!isnan(difference));
          error = difference > error ? difference : error;
          largest = fabs(expected[i]) > largest ? fabs(expected[i]) : largest;
        }
      }
    }
  }
  EXPECT(error <= 1e-5 * largest);
  EXPECT(largest > 0.02); /* there was something to compare */
  free(pool);
}

#endif /* DECANT_TEST_CAPI_SMALLTOKENS_H */

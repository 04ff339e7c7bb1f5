//===- SmallLayer.h - a gated delta layer, checked in double ------*- C -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle is the rule as its paper has it (arXiv 2412.06464), a plain loop
// in double over S[key][value]; it shares no code with the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_CAPI_SMALLLAYER_H
#define DECANT_TEST_CAPI_SMALLLAYER_H

#include "Expect.h"
#include "SmallSpec.h"

#include "decant-c/decant_runtime.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { kKeyHeads = 2, kHeads = 4, kKey = 32, kValue = 48 };
enum { kRows = 4, kSlots = 5, kTokens = 20 };

/* A step of one row: r = v - S^T k, S += k (beta r)^T, o = S^T q. */
static void exactStep(double (*state)[kKey][kValue], const float *q,
                      const float *k, const float *v, const float *g,
                      const float *beta, double *out) {
  int head, i, j;
  for (head = 0; head < kHeads; ++head) {
    double (*S)[kValue] = state[head];
    const int shared = head / (kHeads / kKeyHeads) * kKey;
    double qq = 1e-6, kk = 1e-6;
    for (i = 0; i < kKey; ++i) {
      qq += (double)q[shared + i] * q[shared + i];
      kk += (double)k[shared + i] * k[shared + i];
    }
    for (j = 0; j < kValue; ++j) {
      double read = 0, sum = 0, u;
      for (i = 0; i < kKey; ++i) {
        S[i][j] *= exp(g[head]);
        read += S[i][j] * k[shared + i] / sqrt(kk);
      }
      u = beta[head] * (v[head * kValue + j] - read);
      for (i = 0; i < kKey; ++i) {
        S[i][j] += k[shared + i] / sqrt(kk) * u;
        sum += S[i][j] * q[shared + i] / sqrt(qq) / sqrt((double)kKey);
      }
      out[head * kValue + j] = sum;
    }
  }
}

/* Values in [low, high), the same in every run. */
static void fill(float *values, size_t count, double low, double high) {
  static uint32_t state = 12345;
  size_t i;
  for (i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(low + (high - low) * (state >> 8) / 16777216.0);
  }
}

/* Decodes 20 tokens of three rows in shuffled slots and one padding row, and
   returns the largest error relative to the largest output. The bound is 1e-5:
   each output is a sum of f32 products of 32 terms, so a few eps (6e-8) times
   sqrt(32), carried on over 20 tokens by a state that decays. */
static double checkLayer(DecantProgram *program) {
  static double exact[kRows][kHeads][kKey][kValue], expected[kHeads * kValue];
  static float q[kRows][kKeyHeads * kKey], k[kRows][kKeyHeads * kKey];
  static float v[kRows][kHeads * kValue], out[kRows][kHeads * kValue];
  static float g[kRows][kHeads], beta[kRows][kHeads];
  const int32_t slots[kRows] = {3, -1, 0, 4};
  DecantProgramInfo info = DECANT_INIT(DecantProgramInfo);
  DecantStepCall call = DECANT_INIT(DecantStepCall);
  unsigned char *pool;
  double error = 0, largest = 0;
  int row, token, i;

  if (decantProgramQuery(program, &info) != DECANT_OK) {
    EXPECT(!"there is no program");
    return -1;
  }
  EXPECT(info.heads == kHeads && info.key_dim == kKey);
  /* 256 is at least as much as any slot_align and a divisor of none above. */
  EXPECT(256 % info.slot_align == 0);
  if (posix_memalign((void **)&pool, 256, (size_t)info.slot_bytes * kSlots))
    exit(2);
  memset(pool, 0, (size_t)info.slot_bytes * kSlots);
  memset(pool + info.slot_bytes, 0xaa, (size_t)info.slot_bytes); /* unused */
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
  for (token = 0; token < kTokens; ++token) {
    fill(q[0], sizeof(q) / sizeof(float), -1, 1);
    fill(k[0], sizeof(k) / sizeof(float), -1, 1);
    fill(v[0], sizeof(v) / sizeof(float), -1, 1);
    fill(g[0], sizeof(g) / sizeof(float), -0.2, 0);
    fill(beta[0], sizeof(beta) / sizeof(float), 0, 1);
    memset(out, 0xff, sizeof(out));
    OK(decantProgramStep(program, &call));
    for (row = 0; row < kRows; ++row) {
      memset(expected, 0, sizeof(expected)); /* a padding row's output */
      if (slots[row] >= 0)
        exactStep(exact[row], q[row], k[row], v[row], g[row], beta[row],
                  expected);
      for (i = 0; i < kHeads * kValue; ++i) {
        const double difference = fabs(out[row][i] - expected[i]);
        EXPECT(!isnan(difference));
        error = difference > error ? difference : error;
        largest = fabs(expected[i]) > largest ? fabs(expected[i]) : largest;
        if (slots[row] < 0)
          EXPECT(out[row][i] == 0);
      }
    }
  }
  EXPECT(error <= 1e-5 * largest);
  EXPECT(largest > 0.02); /* there was something to compare */
  for (i = 0; i < info.slot_bytes; ++i)
    if (pool[info.slot_bytes + i] != 0xaa)
      break;
  EXPECT(i == info.slot_bytes);
  free(pool);
  return error / largest;
}

#endif /* DECANT_TEST_CAPI_SMALLLAYER_H */

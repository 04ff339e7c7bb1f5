//===- SmallSpec.h - the spec of the layer in SmallLayer.h --------*- C -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_CAPI_SMALLSPEC_H
#define DECANT_TEST_CAPI_SMALLSPEC_H

static const char kSmallLayer[] =
    "{\"decant\": 1, \"name\": \"small\", \"rule\": \"gated_delta\","
    " \"heads\": {\"key\": 2, \"value\": 4, \"key_dim\": 32,"
    "  \"value_dim\": 48, \"map\": \"group\"},"
    " \"inputs\": {\"type\": \"f32\", \"output\": \"f32\","
    "  \"layout\": \"separate\", \"decay\": \"log\", \"gate_type\": \"f32\","
    "  \"beta\": \"value\", \"beta_scale\": 1, \"beta_round\": \"f32\","
    "  \"qk_norm\": \"l2_eps_inside\", \"norm_eps\": 1e-6,"
    "  \"scale\": \"rsqrt_key_dim\", \"pad\": \"negative\"},"
    " \"state\": {\"codes\": \"f32\"},"
    " \"window\": {\"length\": 1, \"compensators\": 0, \"records\": \"f32\"},"
    " \"tokens_per_step\": 1}";

#endif /* DECANT_TEST_CAPI_SMALLSPEC_H */

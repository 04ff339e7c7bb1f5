//===- DecantOps.td - all ops of the dialect -----------------*- tablegen -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "RuleOps.td"
include "WindowOps.td"
include "KernelOps.td"

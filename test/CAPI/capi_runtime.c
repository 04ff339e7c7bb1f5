//===- capi_runtime.c - the C API from C99 --------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// capi_runtime no-driver|fake-driver FOLDER
//
// Everything that the API does without a GPU. FOLDER holds the files of
// WriteImages.cpp; "fake-driver" finds the fake libcuda.so.1 by
// LD_LIBRARY_PATH, and "no-driver" a file of that name that is no library.
//
//===----------------------------------------------------------------------===//

#include "Expect.h"

#include "decant-c/decant_runtime.h"

#include <stdlib.h>

static const char *inFolder(const char *folder, const char *name) {
  static char path[4096];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static void testImages(const char *folder) {
  DecantImage *image = NULL;
  DecantImageInfo info = DECANT_INIT(DecantImageInfo);
  INVALID(decantImageLoadFile(NULL, &image), "\"path\" is null");
  INVALID(decantImageLoadFile("x", NULL), "\"image\" is null");
  INVALID(decantImageLoadFile(inFolder(folder, "none.decant"), &image),
          "none.decant: cannot open");
  EXPECT(image == NULL);
  INVALID(decantImageLoadFile(folder, &image), "cannot read");
  INVALID(decantImageLoadFile(inFolder(folder, "cut.decant"), &image),
          "cut.decant: kernel image: truncated");
  INVALID(decantImageLoadFile(inFolder(folder, "flipped.decant"), &image),
          "hash mismatch");
  INVALID(decantImageLoadFile(inFolder(folder, "text.decant"), &image),
          "bad magic");
  INVALID(decantImageLoadBytes(NULL, 4, &image), "\"bytes\" is null");
  INVALID(decantImageLoadBytes("DECA", 4, &image), "truncated");

  OK(decantImageLoadFile(inFolder(folder, "decode.decant"), &image));
  OK(decantImageGetInfo(image, &info));
  EXPECT(strcmp(info.spec_name, "layer") == 0);
  EXPECT(strcmp(info.target, "sm_90") == 0);
  EXPECT(strcmp(info.kind, "ptx") == 0);
  EXPECT(info.ptx_isa == 80);
  EXPECT(info.slot_bytes > 0 && info.code_bytes > 0);
  INVALID(decantImageGetInfo(NULL, &info), "\"image\" is null");
  INVALID(decantImageGetInfo(image, NULL), "\"info\" is null");
  info.struct_size = 0;
  INVALID(decantImageGetInfo(image, &info), "struct_size is 0");
  info.struct_size = sizeof(info) + 8;
  INVALID(decantImageGetInfo(image, &info), "newer header");
  decantImageDestroy(image);
}

static void testNullHandles(void) {
  DecantStepCall step = DECANT_INIT(DecantStepCall);
  DecantCommitCall commit = DECANT_INIT(DecantCommitCall);
  DecantFlushCall flush = DECANT_INIT(DecantFlushCall);
  DecantDenseCall dense = DECANT_INIT(DecantDenseCall);
  DecantZeroCall zero = DECANT_INIT(DecantZeroCall);
  DecantCopyCall copy = DECANT_INIT(DecantCopyCall);
  DecantProgramInfo info = DECANT_INIT(DecantProgramInfo);
  DecantArgumentInfo argument = DECANT_INIT(DecantArgumentInfo);
  DecantDeviceInfo device = DECANT_INIT(DecantDeviceInfo);
  DecantProgram *program = NULL;
  INVALID(decantDeviceOpenCuda(0, NULL), "\"device\" is null");
  INVALID(decantDeviceGetInfo(NULL, &device), "\"device\" is null");
  INVALID(decantProgramCreate(NULL, NULL, NULL, &program), "is null");
  INVALID(decantProgramCreate(NULL, NULL, NULL, NULL), "\"program\" is null");
  INVALID(decantProgramCreateBatched(NULL, NULL, 0, NULL, 0, NULL, NULL),
          "\"program\" is null");
  INVALID(decantProgramCreateBatched(NULL, NULL, 0, NULL, 0, NULL, &program),
          "\"device\" is null");
  INVALID(decantProgramQuery(NULL, &info), "\"program\" is null");
  INVALID(decantProgramGetArgument(NULL, 0, &argument), "\"program\" is null");
  INVALID(decantProgramSupported(NULL, &step), "\"program\" is null");
  INVALID(decantProgramStep(NULL, &step), "\"program\" is null");
  INVALID(decantProgramCommit(NULL, &commit), "\"program\" is null");
  INVALID(decantProgramFlush(NULL, &flush), "\"program\" is null");
  INVALID(decantProgramPack(NULL, &dense), "\"program\" is null");
  INVALID(decantProgramUnpack(NULL, &dense), "\"program\" is null");
  INVALID(decantProgramZero(NULL, &zero), "\"program\" is null");
  INVALID(decantProgramCopy(NULL, &copy), "\"program\" is null");
  INVALID(decantProgramCheckSlots(NULL, NULL, 0, 0, 0), "\"program\" is null");
  INVALID(decantProgramCheckTokens(NULL, NULL, NULL, 0), "is null");
  decantDeviceClose(NULL);
  decantImageDestroy(NULL);
  decantProgramDestroy(NULL);
}

static void testWithoutDriver(void) {
  DecantDevice *device = (DecantDevice *)&checks;
  REFUSED(DECANT_UNAVAILABLE, decantDeviceOpenCuda(0, &device),
          "no NVIDIA driver: libcuda.so.1 cannot be opened");
  EXPECT(device == NULL);
}

/* Device memory is host memory under the fake driver. */
static void testCalls(DecantProgram *program, const DecantProgramInfo *info) {
  static int32_t slots[4] = {2, 0, 3, 1};
  static float gates[64];
  DecantStepCall step = DECANT_INIT(DecantStepCall);
  DecantCommitCall commit = DECANT_INIT(DecantCommitCall);
  DecantFlushCall flush = DECANT_INIT(DecantFlushCall);
  DecantDenseCall dense = DECANT_INIT(DecantDenseCall);
  DecantZeroCall zero = DECANT_INIT(DecantZeroCall);
  DecantCopyCall copy = DECANT_INIT(DecantCopyCall);
  DecantNamedTensor extra;
  int32_t targets[2] = {1, 0};
  const size_t slot = (size_t)info->slot_bytes;
  unsigned char *pool = aligned_alloc(256, (slot * 4 + 255) / 256 * 256);
  unsigned char *rows = aligned_alloc(256, 1 << 16);
  memset(pool, 0xaa, slot * 4);
  memset(&extra, 0, sizeof(extra));

  step.pool.state = pool;
  step.pool.slot_count = 4;
  step.rows.slots = slots;
  step.rows.rows = 4;
  step.qkv.data = rows;
  step.decay.data = gates;
  step.beta.data = gates;
  step.A_log = gates;
  step.dt_bias = gates;
  step.out = rows;
  OK(decantProgramSupported(program, &step));
  OK(decantProgramStep(program, &step));
  step.out = rows + 2;
  INVALID(decantProgramSupported(program, &step), "\"out\": address");
  INVALID(decantProgramStep(program, &step), "2 mod 16");
  step.out = rows;
  step.q.data = rows;
  INVALID(decantProgramStep(program, &step), "\"q\" is given");
  step.q.data = NULL;
  step.extra_count = 1;
  INVALID(decantProgramStep(program, &step), "extra is null");
  step.extra = &extra;
  INVALID(decantProgramStep(program, &step), "extra input 0");
  step.extra_count = 65;
  INVALID(decantProgramStep(program, &step), "\"extra_count\" is 65");
  step.extra_count = 0;
  step.struct_size = sizeof(step) - 4;
  INVALID(decantProgramStep(program, &step), "set it to sizeof");
  /* As a header before cu_seqlens had it. */
  step.struct_size = offsetof(DecantStepCall, cu_seqlens);
  OK(decantProgramStep(program, &step));
  step.struct_size = sizeof(step);
  step.cu_seqlens = slots;
  INVALID(decantProgramStep(program, &step), "\"cu_seqlens\" is given");
  step.cu_seqlens = NULL;
  INVALID(decantProgramStep(program, NULL), "\"call\" is null");

  commit.pool = step.pool;
  commit.rows = step.rows;
  commit.accepted = slots;
  INVALID(decantProgramCommit(program, &commit), "tokens_per_step is 1");
  INVALID(decantProgramCheckTokens(program, slots, NULL, 3),
          "tokens_per_step is 1");
  flush.pool = step.pool;
  flush.rows = step.rows;
  OK(decantProgramFlush(program, &flush));
  flush.rows.rows = -1;
  INVALID(decantProgramFlush(program, &flush), "\"rows\" is -1");
  INVALID(decantProgramFlush(program, NULL), "\"call\" is null");

  dense.pool = step.pool;
  dense.rows = step.rows;
  dense.dense = rows;
  dense.type = DECANT_BF16;
  dense.value_major = 1;
  OK(decantProgramPack(program, &dense));
  OK(decantProgramUnpack(program, &dense));
  dense.type = DECANT_F16;
  INVALID(decantProgramPack(program, &dense), "\"type\" is 1");
  dense.type = DECANT_F32;
  dense.struct_size = 1;
  INVALID(decantProgramUnpack(program, &dense), "struct_size is 1");

  zero.pool = step.pool;
  zero.slots = slots;
  zero.count = 1;
  OK(decantProgramZero(program, &zero));
  EXPECT(pool[slot * 2] == 0 && pool[slot * 3 - 1] == 0);
  EXPECT(pool[slot * 2 - 1] == 0xaa && pool[slot * 3] == 0xaa);
  const uint32_t seed = 0x01020304;
  zero.seeds = &seed;
  OK(decantProgramZero(program, &zero));
  EXPECT(pool[slot * 2 + 20] == 4 && pool[slot * 2 + 23] == 1);
  zero.struct_size = offsetof(DecantZeroCall, seeds); /* an older header's */
  OK(decantProgramZero(program, &zero));
  EXPECT(pool[slot * 2 + 20] == 0 && pool[slot * 2 + 23] == 0);
  zero.struct_size = sizeof(zero);
  zero.count = 0;
  INVALID(decantProgramZero(program, &zero), "\"count\" is 0");

  copy.from = step.pool;
  copy.to = step.pool;
  copy.sources = slots;
  copy.targets = targets;
  copy.count = 1;
  OK(decantProgramCopy(program, &copy));
  EXPECT(memcmp(pool + slot, pool + 2 * slot, slot) == 0);
  EXPECT(pool[slot - 1] == 0xaa);
  slots[0] = 4;
  INVALID(decantProgramCopy(program, &copy), "\"sources\": slot 4");
  slots[0] = 2;

  OK(decantProgramCheckSlots(program, slots, 4, 0, 4));
  INVALID(decantProgramCheckSlots(program, slots, 4, 0, 3), "row 2 has slot 3");
  free(rows);
  free(pool);
}

/* Two images that stand for each other, and one that does not. */
static void testBatches(const DecantDevice *device, const DecantImage *decode,
                        const DecantImage *transfer) {
  const DecantImage *both[2], *other[2];
  const DecantBatchRule rules[2] = {{64, 1, 0}, {0, 0, 0}};
  const DecantBatchRule open_ended[1] = {{64, 1, 0}};
  DecantProgramInfo info = DECANT_INIT(DecantProgramInfo);
  DecantProgram *program = NULL;
  both[0] = both[1] = other[0] = decode;
  other[1] = NULL;
  INVALID(decantProgramCreateBatched(device, NULL, 2, rules, 2, NULL, &program),
          "\"decode\" is null");
  INVALID(decantProgramCreateBatched(device, both, 2, NULL, 2, NULL, &program),
          "\"rules\" is null");
  INVALID(
      decantProgramCreateBatched(device, other, 2, rules, 2, NULL, &program),
      "\"decode[1]\" is null");
  INVALID(decantProgramCreateBatched(device, both, 1, rules, 2, NULL, &program),
          "batch rule 0: found variant 1; allowed are 0 to 0");
  INVALID(decantProgramCreateBatched(device, both, 2, open_ended, 1, NULL,
                                     &program),
          "found none for more than 64 rows");
  other[1] = transfer;
  INVALID(
      decantProgramCreateBatched(device, other, 2, rules, 2, NULL, &program),
      "variant 1");
  EXPECT(program == NULL);
  OK(decantProgramCreateBatched(device, both, 2, rules, 2, transfer, &program));
  OK(decantProgramQuery(program, &info));
  EXPECT(info.can_transfer && info.step_argument_count == 15);
  EXPECT(info.variant_count == 2);
  decantProgramDestroy(program);
}

static void testWithFakeDriver(const char *folder) {
  DecantDevice *device = NULL;
  DecantImage *decode = NULL, *transfer = NULL;
  DecantProgram *program = NULL;
  DecantDeviceInfo facts = DECANT_INIT(DecantDeviceInfo);
  DecantProgramInfo info = DECANT_INIT(DecantProgramInfo);
  DecantArgumentInfo argument = DECANT_INIT(DecantArgumentInfo);

  INVALID(decantDeviceOpenCuda(5, &device), "no CUDA device 5");
  OK(decantDeviceOpenCuda(0, &device));
  OK(decantDeviceGetInfo(device, &facts));
  EXPECT(strcmp(facts.name, "Fake GPU 0") == 0);
  EXPECT(facts.is_cuda && facts.compute_major == 9);
  EXPECT(facts.driver_version == 13000);

  OK(decantImageLoadFile(inFolder(folder, "decode.decant"), &decode));
  OK(decantImageLoadFile(inFolder(folder, "transfer.decant"), &transfer));
  INVALID(decantProgramCreate(device, NULL, transfer, &program),
          "\"decode\" is null");
  INVALID(decantProgramCreate(device, transfer, NULL, &program),
          "entry \"step\": the image has no such entry");
  EXPECT(program == NULL);
  OK(decantProgramCreate(device, decode, NULL, &program));
  OK(decantProgramQuery(program, &info));
  EXPECT(!info.can_transfer);
  decantProgramDestroy(program);

  testBatches(device, decode, transfer);
  OK(decantProgramCreate(device, decode, transfer, &program));
  /* The program keeps what it needs of them. */
  decantDeviceClose(device);
  decantImageDestroy(decode);
  decantImageDestroy(transfer);
  OK(decantProgramQuery(program, &info));
  EXPECT(info.heads == 4 && info.key_dim == 32 && info.value_dim == 48);
  EXPECT(info.window == 8 && info.slot_align == 16);
  EXPECT(info.tokens_per_step == 1);
  EXPECT(info.pad_policy == DECANT_PAD_NEGATIVE && info.can_transfer);
  EXPECT(info.bits_per_element == 32.0);
  info.struct_size = 12;
  INVALID(decantProgramQuery(program, &info), "struct_size is 12");
  info.struct_size = sizeof(info);
  EXPECT(info.step_argument_count == 15);
  OK(decantProgramGetArgument(program, 1, &argument));
  EXPECT(strcmp(argument.name, "out") == 0);
  EXPECT(argument.is_pointer && argument.writable);
  EXPECT(argument.type == DECANT_BF16 && argument.align == 16);
  EXPECT(argument.row_width == 192);
  OK(decantProgramGetArgument(program, 12, &argument));
  EXPECT(argument.type == DECANT_INT32);
  INVALID(decantProgramGetArgument(program, 15, &argument), "0 to 14");
  INVALID(decantProgramGetArgument(program, -1, &argument), "is -1");
  testCalls(program, &info);
  decantProgramDestroy(program);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  EXPECT(decantRuntimeVersion() == DECANT_RUNTIME_VERSION);
  EXPECT(strcmp(decantLastError(), "") == 0);
  EXPECT(strcmp(decantStatusName(DECANT_UNAVAILABLE), "unavailable") == 0);
  EXPECT(decantStatusName(99) != NULL);
  testImages(argv[2]);
  testNullHandles();
  if (strcmp(argv[1], "no-driver") == 0)
    testWithoutDriver();
  else
    testWithFakeDriver(argv[2]);
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}

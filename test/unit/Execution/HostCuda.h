//===- HostCuda.h - a CUDA kernel as a host function ------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of CUDA C++ as `--emit cuda` prints, for a host compiler: blocks run
// one after the other, the threads of a block as threads of the host, which
// meet at a barrier.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_HOSTCUDA_H
#define DECANT_TEST_UNIT_EXECUTION_HOSTCUDA_H

#include <cmath>
#include <cstring>
#include <pthread.h>
#include <thread>
#include <utility>
#include <vector>

#define __global__
#define __device__ inline

using std::atan, std::ceil, std::copysign, std::cos, std::erf, std::exp;
using std::exp2, std::expm1, std::fabs, std::floor, std::fmax, std::fmin;
using std::fmod, std::frexp, std::ldexp, std::log, std::log1p, std::log2;
using std::pow, std::rint, std::sin, std::sqrt, std::tan, std::tanh;

struct HostIndex {
  unsigned x = 0;
};
inline thread_local HostIndex blockIdx, threadIdx, blockDim;
inline thread_local pthread_barrier_t *blockBarrier = nullptr;

inline void __syncthreads() { pthread_barrier_wait(blockBarrier); }

inline float __int_as_float(int bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename... Args, size_t... I>
void callKernel(void (*kernel)(Args...), void *const *args,
                std::index_sequence<I...>) {
  kernel(static_cast<Args>(args[I])...);
}

template <typename... Args>
void launchOnHost(void (*kernel)(Args...), unsigned blocks, unsigned threads,
                  void *const *args) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, threads);
  auto run = [&](unsigned thread) {
    threadIdx.x = thread;
    blockDim.x = threads;
    blockBarrier = &barrier;
    for (unsigned block = 0; block < blocks; ++block) {
      blockIdx.x = block;
      callKernel(kernel, args, std::index_sequence_for<Args...>());
    }
  };
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < threads; ++thread)
    others.emplace_back(run, thread);
  run(0);
  for (std::thread &other : others)
    other.join();
  pthread_barrier_destroy(&barrier);
}

#endif // DECANT_TEST_UNIT_EXECUTION_HOSTCUDA_H

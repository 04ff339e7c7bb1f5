//===- Verify.cpp - is a kernel right? ------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

#include "CaseRun.h"
#include "ReferenceProgram.h"
#include "decant/Runtime/Cuda.h"

#include <fmt/format.h>
#include <set>

using namespace decant;

const char *decant::toString(Fills fills) {
  return fills == Fills::Equal ? "equal" : "mixed";
}

std::vector<VerifyCase>
decant::verifyGrid(const DecodeSpec &spec,
                   const std::vector<int64_t> &batches) {
  std::vector<VerifyCase> cases;
  // A row without tokens is padding where a step decodes one.
  const bool mixed =
      spec.window.length > 1 &&
      (spec.tokensPerStep > 1 || spec.inputs.pad != PadPolicy::None);
  for (int64_t batch : batches) {
    cases.push_back({batch, Fills::Equal});
    if (mixed && batch > 1)
      cases.push_back({batch, Fills::Mixed});
  }
  return cases;
}

std::vector<int64_t> decant::verifyBatches(const Program &program) {
  // What more rows have, fewer have too, but for who runs them.
  constexpr int64_t kMost = 512;
  std::set<int64_t> batches = {1, 7};
  int64_t first = 1;
  for (const BatchRule &rule : program.rules()) {
    if (first <= kMost)
      batches.insert(first);
    first = rule.maxRows == kAnyRows ? kAnyRows : rule.maxRows + 1;
  }
  return {batches.begin(), batches.end()};
}

struct Verifier::Impl {
  DecodeSpec spec;
  std::shared_ptr<Device> device;
  ReferencePrograms programs;
  SyntheticTokens tokens;
  std::unique_ptr<CudaOracle> oracle;
  std::string oracleName;
  unsigned threads = 1;
};

Verifier::Verifier(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Verifier::Verifier(Verifier &&) noexcept = default;
Verifier &Verifier::operator=(Verifier &&) noexcept = default;
Verifier::~Verifier() = default;

Expected<Verifier> Verifier::create(const DecodeSpec &spec,
                                    std::shared_ptr<Device> device,
                                    std::unique_ptr<CudaOracle> oracle,
                                    const std::string &oracleName,
                                    unsigned threads) {
  DECANT_ASSIGN(ReferencePrograms programs, referencePrograms(spec));
  SyntheticTokens tokens(spec, programs.exact.inputs(),
                         programs.exact.carriedSize() > 0);
  return Verifier(std::unique_ptr<Impl>(
      new Impl{spec, std::move(device), std::move(programs), std::move(tokens),
               std::move(oracle), oracleName, threads}));
}

Expected<Verifier> Verifier::create(const DecodeSpec &spec,
                                    std::shared_ptr<Device> device,
                                    const VerifyOptions &options) {
  if (device->info().kind != TargetKind::Nvidia ||
      options.oracle == OraclePolicy::None)
    return create(spec, std::move(device), nullptr, "", options.threads);
  const auto nvrtc = Nvrtc::load(options.nvrtc);
  if (!nvrtc && options.oracle == OraclePolicy::Require)
    return nvrtc.status();
  if (!nvrtc)
    return create(spec, std::move(device), nullptr, "", options.threads);
  DECANT_ASSIGN(CudaOracle oracle, CudaOracle::create(spec, device, **nvrtc));
  return create(spec, std::move(device),
                std::make_unique<CudaOracle>(std::move(oracle)),
                fmt::format("{} of CUDA {}", (*nvrtc)->path(),
                            cudaVersionText((*nvrtc)->version())),
                options.threads);
}

const std::string &Verifier::oracleName() const { return impl->oracleName; }

Expected<VerifyResult> Verifier::check(const Program &program,
                                       const VerifyCase &situation) {
  DECANT_ASSIGN(TestedLayer layer,
                TestedLayer::create(impl->spec, impl->device, program,
                                    impl->tokens, situation.batch));
  CaseRun run(impl->spec, program, impl->programs, impl->tokens, layer,
              impl->oracle.get(), impl->threads);
  return run.run(situation);
}

Status decant::checkAgainstOracle(const DecodeSpec &spec,
                                  std::shared_ptr<Device> device,
                                  const Program &program,
                                  const VerifyOptions &options) {
  DECANT_ASSIGN(Verifier verifier,
                Verifier::create(spec, std::move(device), options));
  for (const VerifyCase &situation : verifyGrid(spec, verifyBatches(program))) {
    DECANT_ASSIGN(const VerifyResult result,
                  verifier.check(program, situation));
    if (!result.ok())
      return Status::failed(
          fmt::format("{}, batch {}, {} fills: {}", spec.name, situation.batch,
                      toString(situation.fills), result.failure));
  }
  return {};
}

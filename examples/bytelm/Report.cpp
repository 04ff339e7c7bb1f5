//===- Report.cpp - a verdict for people and programs ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace bytelm;
using Json = nlohmann::ordered_json;

namespace {

double meanBits(const Judged &judged) {
  Mean mean;
  for (const auto &layer : judged.layers)
    mean.add(layer->info().bitsPerElement);
  return mean.value();
}

std::string describe(const StateInfo &info) {
  return fmt::format("{}, window {}, {} compensators, {:.4g} bits per element",
                     info.spec, info.window, info.compensators,
                     info.bitsPerElement);
}

} // namespace

std::string bytelm::toText(const Judged &judged) {
  const Verdict &verdict = judged.verdict;
  std::string text = fmt::format(
      "{} streams of {} tokens, judged from token {}{}\n", judged.streams.rows,
      judged.streams.tokens, Verdict::kFirstToken,
      judged.device.empty() ? "" : ", states on " + judged.device);
  for (size_t i = 0; i < judged.layers.size(); ++i)
    text += fmt::format("layer {}        {}\n", i,
                        describe(judged.layers[i]->info()));
  text +=
      fmt::format("KL             {:.3e} nats per byte, {:.3e} in the second "
                  "half\n",
                  verdict.kl.value(), verdict.klSecondHalf.value());
  text += fmt::format("bits per byte  {:.4f}, fp32 {:.4f}\n",
                      verdict.bits.value(), verdict.bitsReference.value());
  text += fmt::format("agreement      {:.4f}\n", verdict.agree.value());
  text += fmt::format("time           {:.1f} s, fp32 {:.1f} s{}\n",
                      verdict.seconds, verdict.referenceSeconds,
                      judged.storedReference ? " (read from the file)" : "");
  return text;
}

std::string bytelm::toJson(const Judged &judged) {
  const Verdict &verdict = judged.verdict;
  Json json;
  json["streams"] = judged.streams.rows;
  json["tokens"] = judged.streams.tokens;
  json["first_token"] = Verdict::kFirstToken;
  json["device"] = judged.device;
  json["layers"] = Json::array();
  for (const auto &layer : judged.layers) {
    const StateInfo info = layer->info();
    json["layers"].push_back({{"spec", info.spec},
                              {"window", info.window},
                              {"compensators", info.compensators},
                              {"bytes_per_state", info.bytesPerHead},
                              {"slot_bytes", info.slotBytes},
                              {"bits_per_element", info.bitsPerElement}});
  }
  json["bits_per_element"] = meanBits(judged);
  // A number that is not finite becomes null.
  json["kl"] = verdict.kl.value();
  json["kl_second_half"] = verdict.klSecondHalf.value();
  json["agree"] = verdict.agree.value();
  json["bits_per_byte"] = verdict.bits.value();
  json["bits_per_byte_fp32"] = verdict.bitsReference.value();
  json["kl_curve"] = Json::array();
  for (const Mean &part : verdict.klCurve)
    json["kl_curve"].push_back(part.value());
  json["kl_per_stream"] = Json::array();
  for (const Mean &stream : verdict.klPerStream)
    json["kl_per_stream"].push_back(stream.value());
  json["seconds"] = verdict.seconds;
  json["seconds_fp32"] = verdict.referenceSeconds;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

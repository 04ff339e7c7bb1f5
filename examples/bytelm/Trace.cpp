//===- Trace.cpp - what layers hand to their states -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include "Elements.h"
#include "Error.h"
#include "Progress.h"

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace bytelm;

namespace {

struct Record {
  std::vector<float> q, k, v, g, beta;
};

void append(std::vector<float> &to, const float *from, int64_t count) {
  to.insert(to.end(), from, from + count);
}

/// Writes down what it passes on. For one row.
class RecordingStates : public LayerStates {
public:
  RecordingStates(const LayerShape &shape, Record &record, int threads)
      : shape(shape), record(record), states(plainStates(shape, 1, threads)) {}

  void decode(const StateInputs &inputs) override {
    for (int token = 0; token < inputs.tokens; ++token) {
      const float *qkv = inputs.qkv + int64_t(token) * shape.qkvWidth();
      append(record.q, qkv, shape.keyWidth());
      append(record.k, qkv + shape.keyWidth(), shape.keyWidth());
      append(record.v, qkv + 2 * shape.keyWidth(), shape.valueWidth());
    }
    append(record.g, inputs.decay, int64_t(inputs.tokens) * shape.decayWidth());
    append(record.beta, inputs.beta, int64_t(inputs.tokens) * shape.valueHeads);
    states->decode(inputs);
  }
  StateInfo info() const override { return states->info(); }

private:
  LayerShape shape;
  Record &record;
  std::unique_ptr<LayerStates> states;
};

class FileWriter {
public:
  void add(const char *name, const std::vector<int64_t> &shape, int type,
           const std::vector<float> &values) {
    const size_t begin = data.size();
    data.resize(begin + values.size() * elementBytes(type));
    fromFloats(type, values.data(), int64_t(values.size()), &data[begin]);
    header[name] = {{"dtype", type == DECANT_BF16 ? "BF16" : "F32"},
                    {"shape", shape},
                    {"data_offsets", {begin, data.size()}}};
  }
  void write(const std::string &path) const {
    std::string text = header.dump();
    // Readers that map the file want whole words.
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const uint64_t length = text.size();
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char *>(&length), sizeof(length));
    file << text << data << std::flush;
    if (!file)
      wrongInput("-o {}: cannot be written ({})", path, std::strerror(errno));
  }

private:
  nlohmann::ordered_json header;
  std::string data;
};

void writeTrace(const std::string &path, const LayerShape &shape,
                const Record &record) {
  const int64_t tokens = int64_t(record.beta.size()) / shape.valueHeads;
  FileWriter file;
  file.add("q", {tokens, shape.keyHeads, shape.dim}, DECANT_BF16, record.q);
  file.add("k", {tokens, shape.keyHeads, shape.dim}, DECANT_BF16, record.k);
  file.add("v", {tokens, shape.valueHeads, shape.dim}, DECANT_BF16, record.v);
  std::vector<int64_t> gate = {tokens, shape.valueHeads};
  file.add("beta", gate, DECANT_F32, record.beta);
  if (shape.kind == LayerKind::Kda)
    gate.push_back(shape.dim);
  file.add("g", gate, DECANT_F32, record.g);
  file.write(path);
}

} // namespace

std::vector<std::string> bytelm::writeTraces(const Model &model,
                                             const Streams &streams,
                                             const std::string &folder,
                                             int threads) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    wrongInput("-o {}: is no folder and cannot become one ({})", folder,
               error.message());
  std::vector<Record> records(model.blocks.size());
  std::vector<std::unique_ptr<LayerStates>> states;
  for (size_t i = 0; i < records.size(); ++i)
    states.push_back(std::make_unique<RecordingStates>(model.blocks[i].shape,
                                                       records[i], threads));
  Network network(model, std::move(states), 1, threads);
  constexpr int kChunk = 256;
  Progress progress("token", streams.tokens);
  for (int begin = 0; begin < streams.tokens; begin += kChunk) {
    network.forward(streams.bytes.data() + begin,
                    std::min(kChunk, streams.tokens - begin));
    progress.update(begin);
  }
  std::vector<std::string> files;
  for (size_t i = 0; i < records.size(); ++i) {
    const LayerShape &shape = model.blocks[i].shape;
    files.push_back(fmt::format("{}/layer{}-{}.safetensors", folder, i,
                                toString(shape.kind)));
    writeTrace(files.back(), shape, records[i]);
  }
  return files;
}

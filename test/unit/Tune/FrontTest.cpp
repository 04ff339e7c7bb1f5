//===- FrontTest.cpp - fronts and choices of formats ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune/Front.h"

#include <gtest/gtest.h>

using namespace decant::tune;

namespace {

using Indices = std::vector<size_t>;

// error, bits, time
const std::vector<Place> kPlaces = {{1e-2, 7.5, 100}, {1e-3, 9.5, 50},
                                    {2e-3, 7.0, 80},  {3e-3, 7.0, 90},
                                    {5e-2, 4.5, 40},  {2e-3, 7.5, 60}};

TEST(Front, HoldsWhatNoOtherBeatsInAll) {
  // 0 is beaten by 2, 3 by 2; 5 is slower than 1 but smaller, faster than 2
  // but larger.
  EXPECT_EQ(frontOf(kPlaces),
            (std::vector<bool>{false, true, true, false, true, true}));
}

TEST(Front, EqualPlacesStayBoth) {
  EXPECT_EQ(frontOf({{1, 1, 1}, {1, 1, 1}}), (std::vector<bool>{true, true}));
}

TEST(Front, WithinBoundsTheFastestComeFirst) {
  const Bounds bounds{5e-3, 7.5};
  // 0 always, then 5 and 2 by time, then 1 and 4 by error.
  EXPECT_EQ(worthTiming(kPlaces, bounds, 10), (Indices{0, 5, 2, 1, 4}));
  EXPECT_EQ(worthTiming(kPlaces, bounds, 2), (Indices{0, 5}));
}

TEST(Front, NearTwinsAreTimedOnce) {
  const std::vector<Place> places = {
      {1, 8, 100}, {1e-3, 7.01, 50}, {1.1e-3, 7.0, 49.9}, {2e-3, 7.0, 40}};
  // 2 has the bits and time of 1 within a hundredth, and the larger error; yet
  // it is the faster one, so it comes first and only the better one joins it.
  EXPECT_EQ(worthTiming(places, {}, 10), (Indices{0, 3, 2, 1}));
  EXPECT_EQ(
      worthTiming({{1, 8, 100}, {1e-3, 7.0, 50}, {1.1e-3, 6.99, 50.1}}, {}, 10),
      (Indices{0, 1}));
}

TEST(Front, TheFastestWithinBounds) {
  EXPECT_EQ(fastestWithin(kPlaces, {5e-3, 7.5}, 0.02), 5u);
  EXPECT_EQ(fastestWithin(kPlaces, {5e-3, {}}, 0.02), 1u);
  EXPECT_EQ(fastestWithin(kPlaces, {{}, 5.0}, 0.02), 4u);
  EXPECT_EQ(fastestWithin(kPlaces, {}, 0.02), 4u);
  EXPECT_EQ(fastestWithin(kPlaces, {1e-4, {}}, 0.02), std::nullopt);
}

TEST(Front, OfEqualTimesTheMoreAccurate) {
  const std::vector<Place> places = {
      {3e-3, 8, 100}, {1e-3, 8, 101.5}, {1e-4, 8, 103}};
  EXPECT_EQ(fastestWithin(places, {}, 0.02), 1u);
}

TEST(Front, TheHeldOneStaysWithinNoiseAndBounds) {
  const std::vector<Place> places = {
      {3e-3, 8, 100}, {1e-3, 8, 101.5}, {1e-4, 8, 103}};
  EXPECT_EQ(fastestWithin(places, {}, 0.02, 0), 0u);
  EXPECT_EQ(fastestWithin(places, {}, 0.02, 2), 1u) << "it is too slow";
  EXPECT_EQ(fastestWithin(places, {2e-3, {}}, 0.02, 0), 2u) << "too wrong";
}

} // namespace

"""Usage: check_benchmarks.py FOLDER

The functions of the benchmark scripts that need no GPU.
"""
import sys

sys.path.insert(0, sys.argv[1])
import compare_peers  # noqa: E402
import plot_results  # noqa: E402
import prototypes  # noqa: E402


def same(found, wanted):
    if found != wanted:
        sys.exit(f"found  {found}\nwanted {wanted}")


# Several variants count as the fastest; a boundary of its own is added.
same(prototypes.parse_line(
    "B=  64 heads=2048 relerr(max over 64 steps, 4 windows)=7.10e-03 | decode us: occ4 17.9 "
    "occ5 17.7 occ8 19.0 | boundary 1/16 12.2 all 71.0 | bytes 51.0 MB -> best 2.88 TB/s"),
    {"batch": 64, "step_us": 17.7, "boundary_us": 12.2, "boundary_all_us": 71.0,
     "relative_error": 7.1e-3, "us": 29.9})
same(prototypes.parse_line("B= 512 us: g3s6 104.1 g2s6 110.0 g4s4 109.2 best 3.91 TB/s"),
     {"batch": 512, "step_us": 104.1})
same(prototypes.parse_line(
    "B=1024 relerr 8.10e-03 | fused, staggered us: g3s3 154.2 again 153.9 | nothing due 124.0 "
    "| all due 401.1 | 3.02 TB/s"),
    {"batch": 1024, "us": 154.2, "nothing_due_us": 124.0, "all_due_us": 401.1,
     "relative_error": 8.1e-3})
same(prototypes.parse_line("read-only ceiling 4.55 TB/s"), None)

MIB, GIB = 1 << 20, 1 << 30
same(compare_peers.choose_sets(MIB, 50 * MIB), 200)
same(compare_peers.choose_sets(3 * MIB, 50 * MIB), 67)
same(compare_peers.choose_sets(1000, 50 * MIB), 512)
same(compare_peers.choose_sets(400 * MIB, 50 * MIB), 8)
same(compare_peers.choose_sets(3 * GIB, 50 * MIB), 2)
same(compare_peers.choose_sets(10 * GIB, 50 * MIB), 1)
same(compare_peers.summary([11, 2, 3, 4, 10, 6, 7, 8, 9, 5, 1]),
     {"us": 6, "p10": 2, "p90": 10})

# Only kernels that rewrite an f32 state at every token are what Decant is compared with.
same(plot_results.best_f32_peer({"peers": {
    "a-f32": {"rule": "gdn", "window": 1, "results": [{"batch": 8, "us": 5.0}]},
    "b-f32": {"rule": "gdn", "window": 1, "results": [{"batch": 8, "us": 4.0}]},
    "c-f32": {"rule": "gdn", "window": 16, "results": [{"batch": 8, "us": 3.0}]},
    "d-bf16": {"rule": "gdn", "window": 1, "results": [{"batch": 8, "us": 2.0}]},
    "e-f32": {"rule": "kda", "window": 1, "results": [{"batch": 8, "us": 1.0}]},
    "f-f32": {"missing": "no package"}}}, "gdn", 8), (4.0, "b-f32"))


# Timing, with a PyTorch whose clock goes on by a millisecond per step.
class FakeTorch:
    def __init__(self, captures):
        self.steps, self.captures, self.cuda = 0, captures, self

    def synchronize(self):
        pass

    def Event(self, enable_timing):
        clock = self

        class Event:
            def record(self):
                self.at = clock.steps

            def synchronize(self):
                pass

            def elapsed_time(self, end):
                return float(end.at - self.at)
        return Event()

    def CUDAGraph(self):
        if not self.captures:
            raise RuntimeError("no graphs today")
        clock = self

        class Graph:
            def replay(self):
                clock.steps += self.held
        return Graph()

    def graph(self, made):
        clock = self

        class Capture:
            def __enter__(self):
                self.before = clock.steps

            def __exit__(self, *error):
                made.held = clock.steps - self.before
        return Capture()


class FakePeer:
    sets, window = 3, 16

    def __init__(self, torch):
        self.torch, self.calls = torch, []

    def step(self, which, inputs, place):
        self.torch.steps += 1
        self.calls.append((which, place))


for captures in (True, False):
    torch = FakeTorch(captures)
    peer = FakePeer(torch)
    found = compare_peers.time_peer(torch, peer, 100)
    same((found["us"], found["p10"], found["p90"]), (1000, 1000, 1000))
    same(found["steps_per_replay"], 48)
    # Every set goes through every place of the window.
    same(sorted(peer.calls[:48]), [(s, p) for s in range(3) for p in range(16)])
    same(found["method"].startswith("CUDA graph"), captures)
    same(found.get("note"), None if captures else "not captured: no graphs today")

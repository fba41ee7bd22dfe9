"""Shares of a known program, as the stores have them that swipr agent pushes to."""

import signal
import unittest

from support import deadline
from support.agent import AgentCase

RATE = 1000
# Of so many samples, two points are 4.4 standard errors of a share of 70 per cent, and 3.8 if their weights vary as
# much as under load: exceeded by chance once in 7,000 runs.
ENOUGH_SAMPLES = 12000


class StoredSharesTest(AgentCase):
    def test_each_store_has_the_total_and_the_shares_of_a_known_program(self):
        store = self.start_store()
        program = self.start(self.target_path("shares_nofp"), preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        pushes = [part for engine in ("pyroscope", "parca", "otlp", "gprofiler") for part in ("--push", f"{engine}+{store.url}")]
        agent = self.start_agent("--slice", "1s", "--rate", RATE, "--max-host-overhead", "50%", "--no-flamegraph", *pushes,
                                 "--metrics-file", self.folder / "metrics", env={"SWIPR_PUSH_TOKEN": "key"})
        deadline.wait_until(lambda: self.metrics().get("samples_total", 0) >= ENOUGH_SAMPLES, "enough samples", seconds=200)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        for engine in ("pyroscope", "parca", "otlp", "studio"):
            with self.subTest(engine):
                received = [one for one in store.received() if one["api"] == engine]
                total, weights = self.weights_of(received)
                if engine == "studio":  # whole ticks, which add up to the time of each process and slice
                    self.assertAlmostEqual(total / RATE, self.known_cpu() / 1e9, delta=len(received) / RATE)
                else:
                    self.assertEqual(total, self.known_cpu())
                known = [sum(weight for name, weight in weights.items() if name.startswith(function))
                         for function in ("seventy_percent", "twenty_percent", "ten_percent")]
                # At 1 kHz swipr itself uses up to a tenth, where a sleep costs much.
                self.assertGreater(sum(known), 0.9 * (1 - self.own_cpu() / self.known_cpu()) * total)
                for share, wanted in zip(known, (0.7, 0.2, 0.1)):
                    self.assertAlmostEqual(share / sum(known), wanted, delta=0.02)

    @staticmethod
    def weights_of(received):
        """All of it, and that of each function with what it calls."""
        total, sums = 0, {}
        for one in received:
            if one["api"] == "studio":
                total += sum(one["stacks"].values())
                weights = [(name, weight) for stack, weight in one["stacks"].items() for name in set(stack.split(";"))]
            else:
                total += one["types"]["cpu/nanoseconds"]["total"]
                weights = one["types"]["cpu/nanoseconds"]["cum"].items()
            for name, weight in weights:
                sums[name] = sums.get(name, 0) + weight
        return total, sums


if __name__ == "__main__":
    unittest.main()

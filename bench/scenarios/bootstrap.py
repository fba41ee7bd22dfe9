"""Confidence intervals of medians."""
import random
import statistics


def bounds(values, draws=10_000):
    """The 95 % interval of the median, by bootstrap with a fixed seed."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]

"""The scenarios of scripts/bench: one module per table of docs/PERFORMANCE.md."""

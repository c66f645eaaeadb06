"""Data that every layer uses: manifests, entries, conditions, records, histograms, the plan and the run folder."""

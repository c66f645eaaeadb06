"""The charts of a report: one file each, with its rows, its form, its caption and its description."""

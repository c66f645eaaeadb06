"""The charts of a report: each file holds the rows, form, caption and description of one kind of chart."""

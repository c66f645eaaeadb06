"""The ledger of published claims as a page, text and badge. Pure."""

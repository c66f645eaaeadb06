"""The committed runs, and everything generated from runs: document parts, reports, the ledger of claims, the site."""

"""The committed runs, and what is generated from runs: document parts, reports, the ledger of claims, the site."""

"""The reports of runs, the ledger of claims and the site, made from the folders of runs."""

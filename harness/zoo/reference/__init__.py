"""The committed runs: which there are, how they are made, and what the documents quote of them."""

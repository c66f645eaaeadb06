"""What is stored and handed on: records, run facts, entry ids, conditions, flags. Data alone."""

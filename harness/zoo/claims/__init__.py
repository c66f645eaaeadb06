"""Published claims: the rules that decide them, and the verdicts that follow from runs."""

"""Published claims: what was written, what decides it, and what runs made here say of it."""

"""What is asked, in which order, and for how long. Pure."""

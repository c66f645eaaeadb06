"""What the suite is made of: sockets read to the byte, server processes, targets and the contract's constants."""

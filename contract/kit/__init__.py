"""What the suite is made of: sockets read to the byte, servers in processes and containers, targets, constants."""

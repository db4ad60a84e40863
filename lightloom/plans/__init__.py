"""What plans are made of: rounds, partitions of a buffer, boxes of ranks, trees."""

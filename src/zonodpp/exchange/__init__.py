"""Exchange walks: Algorithm 1 of the paper and its successors."""

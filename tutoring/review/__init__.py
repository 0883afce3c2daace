"""Reviews of recorded sessions with the codebook: the queue, labels, reviewer agreement, scores and solve rates."""

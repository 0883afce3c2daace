"""Reading recorded sessions against the codebook: the queue, the reviews, and how well they agree."""

"""Training for tutors and reviewers: a guided session with the practice student, then ten messages to label."""

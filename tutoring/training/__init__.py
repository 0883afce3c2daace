"""Training for tutors and reviewers: a short session with the scripted student, then ten messages to label."""

"""Figures of automatic tutors: gain, leak index, breach rate, guard, money, and the matrix of students and tutors."""

"""Replay of recorded hints to other models: hint cards, placements, draws, and the figures of receptivity."""

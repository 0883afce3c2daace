"""Effort and cost of sessions of people: active minutes, dollars, and learning inside studies (docs/effort.md)."""

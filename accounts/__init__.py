"""Accounts: roles, permissions, pseudonyms, and the login pages."""

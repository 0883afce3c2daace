"""Accounts: roles, permissions and the names under which people appear."""

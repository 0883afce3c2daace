"""Removal of accounts and groups from the administration pages, because accounts have pages of their own."""

from django.contrib import admin
from django.contrib.auth.models import Group, User

admin.site.unregister([User, Group])

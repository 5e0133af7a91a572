"""A Django REST framework project with one table, as its tutorial makes one."""

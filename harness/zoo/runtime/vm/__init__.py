"""A small virtual host for RUNTIME=vm, on the files of this one."""

"""Settings that stand in few files."""
bind = "localhost"
workers = 4
colour = "red"
pythonpath = "lib,more"
limit_request_line = 0
group = "www-data"

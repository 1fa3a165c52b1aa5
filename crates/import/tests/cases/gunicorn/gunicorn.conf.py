"""How the shop is served."""
import multiprocessing

bind = ["0.0.0.0:8000", "unix:/run/shop.sock"]
workers = multiprocessing.cpu_count() * 2 + 1
threads = 8
timeout = 45
graceful_timeout = 20
keepalive = 5
wsgi_app = "shop.wsgi"
preload_app = True
umask = 0o027
user = "www-data"
raw_env = ["DJANGO_SETTINGS_MODULE=shop.settings", 'A="b"']
accesslog = "-"
access_log_format = '%(h)s %(t)s "%(r)s" %(s)s %(b)s "%({X-Forwarded-For}i)s"'
errorlog = (
    "/var/log/"
    "shop.log"
)
loglevel = "warning"
worker_class = "gthread"
forwarded_allow_ips = "*"
max_requests_jitter = 50
backlog = 0


def post_fork(server, worker):
    bind = "ignored"
    server.log.info("""
forked
""")


if True:
    workers = 3

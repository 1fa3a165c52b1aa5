"""Settings of a shop that are said twice."""

bind = ["127.0.0.1:9000", "unix:/run/old.sock"]
raw_env = ["STAGE=old"]
wsgi_app = "shop.wsgi"

bind = "*:8080"
raw_env = ["STAGE=new"]

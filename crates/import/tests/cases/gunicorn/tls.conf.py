"""How the shop is served with TLS."""
wsgi_app = "shop:create_app()"
bind = ":443"
certfile = "a.pem"
keyfile = "a.key"
cert_reqs = 2

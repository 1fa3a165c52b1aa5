"""Parts that all black-box tests share: a server to talk to, and a strict client."""

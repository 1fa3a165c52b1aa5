#!/bin/sh
# Has another script answer: a local redirect (RFC 3875 section 6.2.2).
cat >/dev/null
printf 'Location: /cgi-bin/say.cgi/beneath?from=local\n\n'

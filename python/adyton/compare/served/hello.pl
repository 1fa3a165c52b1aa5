# Twelve bytes, by mod_perl's registry of scripts.
use strict;
use warnings;
my $request = shift;
$request->content_type('text/plain');
$request->set_content_length(12);
$request->print('Hello World!');

#!/usr/bin/perl
# Says its variables, its arguments, its folder and its body in a field, so that the answer to HEAD has them, too.
use strict;
use warnings;

use Cwd qw(getcwd);
use Digest::MD5 qw(md5_hex);

binmode STDIN;
my $body = do { local $/; <STDIN> } // '';
my %said = (%ENV, '(arguments)' => join('|', @ARGV), '(folder)' => getcwd(), '(body)' => md5_hex($body));
for (values %said) {
    s/([^A-Za-z0-9_.\/-])/sprintf '%%%02X', ord $1/ge;
}
print "Content-Type: text/plain\nX-Said: ", join('&', map { "$_=$said{$_}" } sort keys %said), "\n\n";

#!/usr/bin/perl
# Files a bug, and leads to its page.
use strict;
use warnings;

use lib '.';
use Bugs;

fail('405 Method Not Allowed', 'A bug is filed with POST.', -allow => 'POST') if $cgi->request_method ne 'POST';
my $user = user() or fail('401 Unauthorized', 'Log in first.', -www_authenticate => 'Form realm="bugs"');
my $summary = $cgi->param('summary') // '';
fail('400 Bad Request', 'A bug has a summary.') if $summary eq '';
my $id = keep('bug', scalar $cgi->param('comment') // '', summary => $summary, reporter => $user);
print $cgi->redirect(-uri => "show_bug.cgi?id=$id", -status => '303 See Other');

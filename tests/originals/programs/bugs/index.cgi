#!/usr/bin/perl
# Logs somebody in by a cookie, and shows the form that searches.
use strict;
use warnings;

# A script begins in its own folder.
use lib '.';
use Bugs;

my $name = $cgi->param('login');
if (defined $name) {
    fail('403 Forbidden', 'That is not the password.') if ($cgi->param('password') // '') ne 'secret';
    my $cookie = $cgi->cookie(-name => 'bugs_login', -value => $name, -path => '/cgi-bin/bugs/', -httponly => 1);
    print $cgi->redirect(-uri => 'index.cgi', -cookie => $cookie);
    exit 0;
}
page(
    'Bugs',
    $cgi->p(user() ? 'Logged in as ' . $cgi->escapeHTML(user()) : 'Not logged in'),
    $cgi->start_form(-method => 'GET', -action => 'buglist.cgi'), $cgi->textfield('quicksearch'), $cgi->submit('find'), $cgi->end_form,
);

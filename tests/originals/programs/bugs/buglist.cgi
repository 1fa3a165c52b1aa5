#!/usr/bin/perl
# Searches bugs by words, and lists them as a page or as CSV.
use strict;
use warnings;

use lib '.';
use Bugs;

my @words = split ' ', $cgi->param('quicksearch') // '';
fail('400 Bad Request', 'Search for at least one word.') unless @words;
my @found = grep { my $bug = $_; !grep { index(lc $bug->{summary}, lc $_) < 0 } @words } map { bug('bug', $_) } bugs('bug');
if (($cgi->param('ctype') // '') eq 'csv') {
    print $cgi->header(-type => 'text/csv', -charset => 'UTF-8', -content_disposition => 'inline; filename="bugs.csv"');
    print qq(id,summary\n), map(qq($_->{id},"$_->{summary}"\n), @found);
    exit 0;
}
page(
    scalar(@found) . ' found',
    $cgi->ul($cgi->li([map { $cgi->a({-href => "show_bug.cgi?id=$_->{id}"}, $cgi->escapeHTML($_->{summary})) } @found])),
);

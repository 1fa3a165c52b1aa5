#!/usr/bin/perl
# Shows a bug with its attachments, as a page or as XML.
use strict;
use warnings;

use lib '.';
use Bugs;

my $bug = bug('bug', scalar $cgi->param('id')) or fail('404 Not Found', 'There is no such bug.');
my @files = grep { $_->{bug} == $bug->{id} } map { bug('file', $_) } bugs('file');
my %shown = map { $_ => $cgi->escapeHTML($bug->{$_}) } keys %$bug;
if (($cgi->param('ctype') // '') eq 'xml') {
    print $cgi->header(-type => 'application/xml', -charset => 'UTF-8');
    print "<bug id='$shown{id}'><summary>$shown{summary}</summary></bug>\n";
    exit 0;
}
page(
    "Bug $shown{id}",
    $cgi->h1($shown{summary}), $cgi->p("By $shown{reporter}"), $cgi->pre($shown{content}),
    map { $cgi->a({-href => "attachment.cgi?id=$_->{id}"}, $cgi->escapeHTML($_->{name})) } @files,
);

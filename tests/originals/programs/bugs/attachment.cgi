#!/usr/bin/perl
# Takes a file for a bug, and gives it back.
use strict;
use warnings;

use lib '.';
use Bugs;

if ($cgi->request_method eq 'POST') {
    my $bug = bug('bug', scalar $cgi->param('bugid')) or fail('404 Not Found', 'There is no such bug.');
    my $file = $cgi->upload('data') or fail('400 Bad Request', 'Choose a file.');
    binmode $file;
    my $content = do { local $/; <$file> } // '';
    my $name = $cgi->param('data');
    my $type = $cgi->uploadInfo($name)->{'Content-Type'};
    keep('file', $content, bug => $bug->{id}, name => "$name", type => $type);
    print $cgi->redirect(-uri => "show_bug.cgi?id=$bug->{id}");
    exit 0;
}
my $file = bug('file', scalar $cgi->param('id')) or fail('404 Not Found', 'There is no such attachment.');
binmode STDOUT;
print $cgi->header(
    -type => qq($file->{type}; name="$file->{name}"),
    -content_disposition => qq(attachment; filename="$file->{name}"),
    -content_length => length $file->{content},
    -x_content_type_options => 'nosniff',
);
print $file->{content} if $cgi->request_method ne 'HEAD';

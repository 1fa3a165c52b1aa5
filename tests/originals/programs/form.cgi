#!/usr/bin/perl
# A form with an upload, cookies, redirects, downloads and errors, in the ways that CGI.pm has for them.
use strict;
use warnings;

use CGI;
use CGI::Carp qw(fatalsToBrowser);
use Digest::MD5 qw(md5_hex);

# Longer bodies are not read.
$CGI::POST_MAX = 300_000;

my $q = CGI->new;

my %answers = (
    '' => \&form,
    '/upload' => \&upload,
    '/cookies' => \&cookies,
    '/download' => \&download,
    '/environment' => \&environment,
    '/redirect' => sub { print $q->redirect(-uri => scalar $q->param('to'), -status => scalar $q->param('status') || 302) },
    '/local' => sub { print "Location: /cgi-bin/form.cgi/environment?from=local\n\n" },
    '/page' => sub { print "Location: /page.txt\n\n" },
    '/away' => sub { print "Location: https://other.example/?a=b\n\n" },
    '/nothing' => sub { print $q->header(-type => '', -status => '204 No Content') },
    '/saved' => sub { print $q->header(-type => 'text/plain', -status => '204 No Content', -content_length => 0) },
    '/unchanged' => sub { print $q->header(-status => '304 Not Modified', -etag => '"a"', -content_length => 0) },
    '/error' => sub { print $q->header(-type => 'text/plain', -status => '404 No such form'), "no such form\n" },
    '/teapot' => sub { print $q->header(-status => '418 Teapot'), "<p>tea\n" },
    '/expires' => sub { print $q->header(-type => 'text/plain', -expires => '+1h'), "soon old\n" },
    '/dies' => sub { die "nobody knows why\n" },
    '/silent' => sub { exit 1 },
);

if (my $error = $q->cgi_error) {
    print $q->header(-type => 'text/plain', -status => $error), "$error\n";
}
elsif (my $answer = $answers{$q->path_info}) {
    $answer->();
}
else {
    print $q->header(-status => '404 Not Found'), $q->start_html('None'), $q->escapeHTML($q->path_info), $q->end_html;
}

sub form {
    print $q->header(-charset => 'utf-8'), $q->start_html(-title => 'A form', -lang => 'en');
    print $q->start_multipart_form(-action => $q->url(-absolute => 1) . '/upload');
    print $q->textfield('name'), $q->popup_menu('kind', ['a', 'b']), $q->filefield('file'), $q->submit;
    print $q->end_multipart_form, $q->end_html;
}

sub upload {
    print $q->header(-type => 'text/plain', -charset => 'utf-8');
    for my $name (sort grep { $_ ne 'file' } $q->multi_param) {
        print "$name=", join('|', $q->multi_param($name)), "\n";
    }
    for my $name (sort $q->url_param) {
        print "in the URL: $name=", scalar $q->url_param($name), "\n";
    }
    my $file = $q->upload('file') or return;
    binmode $file;
    my $data = do { local $/; <$file> };
    my $type = $q->uploadInfo(scalar $q->param('file'))->{'Content-Type'};
    print 'file=', scalar $q->param('file'), ' ', length($data // ''), ' ', md5_hex($data // ''), " $type\n";
}

sub cookies {
    my $session = $q->cookie(-name => 'session', -value => 'a b&c', -path => '/cgi-bin', -httponly => 1, -samesite => 'Lax');
    my $theme = $q->cookie(-name => 'theme', -value => ['dark', 'wide'], -expires => 'Thu, 31 Dec 2037 23:59:59 GMT');
    print $q->header(-type => 'text/plain', -cookie => [$session, $theme]);
    print "$_=", join('|', $q->cookie($_)), "\n" for sort grep { defined } $q->cookie;
}

sub download {
    binmode STDOUT;
    print $q->header(-type => 'application/octet-stream', -attachment => 'a b.bin', -content_length => 256);
    print map { chr } 0 .. 255;
}

# The variables as CGI.pm shows them. CGI.pm takes the port from the field Host.
sub environment {
    print $q->header(-type => 'text/plain');
    print "$_: ", $q->$_ // '-', "\n" for qw(
        request_method script_name path_info path_translated query_string content_type self_url
        protocol server_protocol server_name virtual_host virtual_port remote_addr remote_host
        user_agent referer auth_type remote_user user_name https
    );
    print 'full: ', $q->url(-path_info => 1, -query => 1), "\nrelative: ", $q->url(-relative => 1), "\n";
    print "$_=", join('|', $q->multi_param($_)), "\n" for sort $q->multi_param;
}

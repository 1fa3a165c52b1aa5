# Shared by the pages of a bug tracker: the place of the bugs, the user, the form of a page and of an error.
package Bugs;

use strict;
use warnings;

use CGI;
use Exporter 'import';

our @EXPORT = qw($cgi bugs bug keep fail page user);
our $cgi = CGI->new;
my $data = $ENV{BUGS_DATA} or die "BUGS_DATA is not set\n";

# The numbers of all things of a kind.
sub bugs {
    my ($kind) = @_;
    opendir my $folder, $data or die "$data: $!\n";
    return sort { $a <=> $b } map { /^(\d+)\.$kind$/ ? $1 : () } readdir $folder;
}

# Reads a thing of a kind, as fields; an empty list if there is none.
sub bug {
    my ($kind, $id) = @_;
    return unless defined $id && $id =~ /^\d+$/ && open my $file, '<:raw', "$data/$id.$kind";
    my %bug = (id => $id);
    while (my $line = <$file>) {
        chomp $line;
        last if $line eq '';
        my ($name, $value) = split /=/, $line, 2;
        $bug{$name} = $value;
    }
    $bug{content} = do { local $/; <$file> } // '';
    return \%bug;
}

# Writes a new thing of a kind; returns its number.
sub keep {
    my ($kind, $content, %fields) = @_;
    my $id = 1 + ((bugs($kind))[-1] // 0);
    open my $file, '>:raw', "$data/$id.$kind" or die "$data/$id.$kind: $!\n";
    print {$file} map({ "$_=$fields{$_}\n" } sort keys %fields), "\n", $content;
    close $file or die "$data/$id.$kind: $!\n";
    return $id;
}

sub user {
    return $cgi->cookie('bugs_login');
}

sub page {
    my ($title, @parts) = @_;
    print $cgi->header(-charset => 'UTF-8', -cache_control => 'private, no-store');
    print $cgi->start_html(-title => $title), @parts, $cgi->end_html;
}

# An error page with a status; nothing follows it.
sub fail {
    my ($status, $message, @more) = @_;
    print $cgi->header(-charset => 'UTF-8', -status => $status, @more);
    print $cgi->start_html(-title => $status), $cgi->p($cgi->escapeHTML($message)), $cgi->end_html;
    exit 0;
}

1;

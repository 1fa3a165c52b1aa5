//! Settings as rows, and the command line made of them.

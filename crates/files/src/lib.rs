//! Static files: a URL path in, an answer out.

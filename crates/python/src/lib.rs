//! The Python module adyton._core.

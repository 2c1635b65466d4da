//! The services of Part 4: requests and responses as values, and their bytes.

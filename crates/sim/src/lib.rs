//! Virtual-time hosts, links and workloads around the tinygram engine.

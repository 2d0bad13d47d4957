struct Options {
    tcp_nodelay: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // ruleid: rust-option-off-by-default
            tcp_nodelay: false,
        }
    }
}

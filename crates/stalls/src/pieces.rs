/// What two segments were to the application that wrote them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pieces {
    /// Unknown.
    #[default]
    Unknown,
    /// Two parts of one message, which could be written at once.
    OneMessage,
    /// Two separate messages, for example two requests in flight. They can be written at once only
    /// if the program has both at the same time.
    Pipelined,
}

/// What two segments were to the application that wrote them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pieces {
    /// It cannot be told.
    #[default]
    Unknown,
    /// Two parts of one message: it could be written once.
    OneMessage,
    /// Two messages of their own, for example two requests in flight: nothing could be written
    /// once, unless the program has both at the same time.
    Pipelined,
}

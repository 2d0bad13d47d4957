//! A sans-IO TCP on ranges whose small-segment and ACK policies are chosen per socket.

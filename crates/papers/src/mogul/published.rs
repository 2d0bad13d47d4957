//! The paper's published numbers: Tables 1 and 4 to 7.

/// A row of Tables 4 to 7: a variant with nine pairs of trial type and score in percent, for
/// application buffers of 4K, 32K and 128K (outer) by socket buffers of 16K, 64K and 128K (inner).
#[derive(Clone, Copy, Debug)]
pub struct PublishedRow {
    /// The variant in the paper's spelling.
    pub variant: &'static str,
    /// The worst trial type and its score, in percent.
    pub cells: [(char, f64); 9],
}

/// One of Tables 4 to 7.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its number.
    pub number: u8,
    /// Its caption.
    pub caption: &'static str,
    /// The rows, in the table's order.
    pub rows: [PublishedRow; 11],
}

/// The application buffers of the columns, in octets.
pub const APP_BUFFERS: [u64; 3] = [4 << 10, 32 << 10, 128 << 10];
/// The socket buffers of the columns, in octets.
pub const SOCKET_BUFFERS: [u64; 3] = [16 << 10, 64 << 10, 128 << 10];

impl Table {
    /// Returns the table with this number, 4 to 7.
    #[must_use]
    pub fn numbered(number: u8) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.number == number)
    }

    /// Returns the entry for a variant and buffer sizes: the worst trial type and its score in
    /// percent.
    #[must_use]
    pub fn published(
        &self,
        variant: &str,
        app_buffer: u64,
        socket_buffer: u64,
    ) -> Option<(char, f64)> {
        let row = self.rows.iter().find(|row| row.variant == variant)?;
        let outer = APP_BUFFERS.iter().position(|size| *size == app_buffer)?;
        let inner = SOCKET_BUFFERS
            .iter()
            .position(|size| *size == socket_buffer)?;
        Some(row.cells[3 * outer + inner])
    }
}

/// Tables 4 to 7.
#[rustfmt::skip] // a row of the paper is a line here
pub const TABLES: [Table; 4] = [
    Table { number: 4, caption: "Scores for Ethernet (MSS 1460)", rows: [
        PublishedRow { variant: "MIN+MORE", cells: [('S', 0.0), ('R', 0.5), ('R', 0.4), ('S', 0.0), ('R', 0.7), ('R', 0.8), ('S', 0.0), ('R', 1.4), ('R', 1.4)] },
        PublishedRow { variant: "E+M+D", cells: [('S', 0.0), ('R', 0.5), ('R', 0.4), ('S', 0.0), ('R', 0.6), ('R', 0.5), ('S', 0.0), ('R', 1.4), ('R', 1.7)] },
        PublishedRow { variant: "OFF", cells: [('S', 0.0), ('R', 0.5), ('R', 0.4), ('R', 0.3), ('R', 0.6), ('R', 0.6), ('S', 0.0), ('R', 1.5), ('R', 1.7)] },
        PublishedRow { variant: "DLDET", cells: [('S', 0.0), ('R', 0.4), ('R', 0.5), ('S', 0.0), ('R', 0.5), ('s', 1.1), ('S', 0.3), ('R', 1.9), ('R', 1.6)] },
        PublishedRow { variant: "MINSHALL", cells: [('s', 0.3), ('r', 1.1), ('R', 0.5), ('S', 0.0), ('R', 1.5), ('r', 2.6), ('s', 1.1), ('R', 1.6), ('R', 1.6)] },
        PublishedRow { variant: "MSMV", cells: [('S', 17.9), ('S', 12.6), ('S', 10.1), ('S', 2.5), ('S', 1.4), ('R', 0.6), ('S', 2.1), ('s', 1.6), ('R', 1.5)] },
        PublishedRow { variant: "E+M+M", cells: [('S', 18.2), ('S', 12.7), ('S', 10.0), ('S', 2.9), ('R', 1.4), ('R', 0.7), ('S', 0.0), ('R', 1.4), ('R', 1.7)] },
        PublishedRow { variant: "EOM", cells: [('S', 30.9), ('S', 31.6), ('S', 31.9), ('s', 7.6), ('S', 7.2), ('S', 7.2), ('s', 2.3), ('s', 2.3), ('R', 2.7)] },
        PublishedRow { variant: "BORMAN", cells: [('S', 31.5), ('S', 32.3), ('S', 32.1), ('S', 7.8), ('S', 17.6), ('S', 18.4), ('S', 0.0), ('R', 1.6), ('R', 1.4)] },
        PublishedRow { variant: "NAGLE", cells: [('S', 31.1), ('S', 32.4), ('S', 32.4), ('S', 28.3), ('S', 29.6), ('S', 28.8), ('S', 30.0), ('S', 30.8), ('S', 30.4)] },
        PublishedRow { variant: "E+M", cells: [('S', 31.2), ('S', 32.7), ('S', 33.4), ('s', 7.6), ('S', 7.3), ('S', 6.9), ('s', 2.3), ('s', 3.6), ('s', 2.3)] },
    ] },
    Table { number: 5, caption: "Scores for FDDI (MSS 4312)", rows: [
        PublishedRow { variant: "DLDET", cells: [('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "E+M+D", cells: [('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "OFF", cells: [('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "MIN+MORE", cells: [('S', 8.7), ('S', 8.7), ('S', 8.7), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "MINSHALL", cells: [('S', 8.8), ('S', 8.7), ('S', 8.7), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "E+M+M", cells: [('S', 34.5), ('S', 34.5), ('R', 21.7), ('S', 10.2), ('S', 6.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "MSMV", cells: [('R', 34.6), ('R', 34.3), ('S', 21.6), ('S', 10.3), ('S', 5.9), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "BORMAN", cells: [('S', 66.4), ('R', 56.9), ('S', 51.5), ('S', 22.2), ('S', 38.9), ('S', 34.6), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "E+M", cells: [('S', 66.4), ('S', 56.0), ('R', 51.9), ('S', 14.1), ('S', 14.1), ('S', 14.2), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "NAGLE", cells: [('S', 66.4), ('S', 56.0), ('S', 51.6), ('S', 43.8), ('S', 44.5), ('S', 44.6), ('S', 44.1), ('S', 44.5), ('S', 44.5)] },
        PublishedRow { variant: "EOM", cells: [('R', 66.6), ('R', 56.0), ('S', 51.6), ('S', 14.1), ('S', 14.1), ('S', 14.2), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
    ] },
    Table { number: 6, caption: "Scores for Ethernet (MSS 1460), receiver inferring sender buffer size", rows: [
        PublishedRow { variant: "E+M+D", cells: [('S', 0.0), ('R', 0.6), ('R', 0.6), ('S', 0.0), ('R', 0.7), ('R', 0.7), ('S', 0.0), ('R', 1.4), ('R', 1.4)] },
        PublishedRow { variant: "DLDET", cells: [('S', 0.0), ('R', 0.5), ('R', 0.5), ('S', 0.0), ('R', 0.6), ('R', 0.6), ('S', 0.0), ('R', 1.5), ('R', 1.6)] },
        PublishedRow { variant: "MINSHALL", cells: [('S', 0.0), ('R', 0.4), ('R', 0.5), ('S', 0.0), ('R', 0.7), ('R', 0.6), ('S', 0.0), ('R', 1.6), ('R', 1.5)] },
        PublishedRow { variant: "OFF", cells: [('S', 0.0), ('R', 0.5), ('R', 0.5), ('S', 0.0), ('R', 0.7), ('R', 1.0), ('s', 0.7), ('R', 1.6), ('R', 1.6)] },
        PublishedRow { variant: "MIN+MORE", cells: [('R', 0.5), ('R', 0.6), ('R', 0.3), ('S', 0.0), ('R', 0.6), ('R', 0.6), ('S', 0.0), ('R', 1.4), ('R', 2.0)] },
        PublishedRow { variant: "E+M+M", cells: [('R', 6.6), ('R', 7.0), ('R', 5.7), ('S', 2.0), ('R', 1.3), ('R', 0.7), ('S', 0.0), ('R', 1.4), ('R', 1.5)] },
        PublishedRow { variant: "MSMV", cells: [('R', 8.0), ('R', 7.4), ('S', 6.6), ('R', 1.8), ('R', 1.1), ('R', 0.5), ('S', 0.0), ('R', 1.3), ('R', 1.6)] },
        PublishedRow { variant: "E+M", cells: [('R', 19.1), ('R', 17.3), ('R', 18.6), ('R', 3.7), ('R', 5.1), ('S', 4.2), ('S', 0.0), ('R', 1.7), ('R', 1.4)] },
        PublishedRow { variant: "BORMAN", cells: [('R', 17.7), ('R', 16.3), ('R', 19.5), ('S', 4.8), ('S', 9.1), ('R', 9.9), ('S', 0.0), ('R', 1.3), ('R', 1.5)] },
        PublishedRow { variant: "EOM", cells: [('R', 17.1), ('R', 20.6), ('R', 17.7), ('S', 3.9), ('S', 4.5), ('R', 4.3), ('S', 0.0), ('R', 2.3), ('R', 1.6)] },
        PublishedRow { variant: "NAGLE", cells: [('R', 20.8), ('R', 18.7), ('R', 16.2), ('R', 18.5), ('R', 16.5), ('R', 17.7), ('R', 15.1), ('R', 18.2), ('S', 19.1)] },
    ] },
    Table { number: 7, caption: "Scores for FDDI (MSS 4312), receiver inferring sender buffer size", rows: [
        PublishedRow { variant: "DLDET", cells: [('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "OFF", cells: [('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "E+M+D", cells: [('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('s', 0.1), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "MINSHALL", cells: [('s', 4.6), ('R', 4.8), ('S', 4.4), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "MIN+MORE", cells: [('S', 4.6), ('R', 5.3), ('S', 4.4), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "EOM", cells: [('R', 20.9), ('S', 18.1), ('R', 18.4), ('S', 10.0), ('S', 10.3), ('S', 9.8), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "BORMAN", cells: [('R', 21.6), ('R', 18.1), ('S', 15.2), ('S', 13.0), ('S', 14.0), ('S', 16.5), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "NAGLE", cells: [('R', 17.6), ('R', 21.8), ('S', 16.6), ('R', 14.9), ('S', 15.5), ('R', 20.4), ('R', 21.6), ('R', 14.8), ('R', 19.3)] },
        PublishedRow { variant: "E+M", cells: [('R', 14.5), ('R', 15.7), ('R', 24.3), ('S', 11.2), ('S', 11.6), ('S', 10.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "MSMV", cells: [('R', 51.9), ('R', 50.8), ('S', 33.3), ('S', 4.7), ('S', 1.3), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
        PublishedRow { variant: "E+M+M", cells: [('R', 52.5), ('S', 51.1), ('S', 34.0), ('S', 4.5), ('S', 4.6), ('S', 0.0), ('S', 0.0), ('S', 0.0), ('S', 0.0)] },
    ] },
];

//! The client's lines: each is a message, and each request that is none is answered.
//!
//! The SDK's own transport drops a line that is too long or no JSON without a word, and whoever sent it waits for ever.

use std::io;
use std::sync::Arc;

use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::message::{Number, message, too_long};

/// A client's lines, and ours.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    /// What was read of a line. A read may be cancelled, and goes on here.
    line: Vec<u8>,
    /// Of a line that is too long: the request's number, as far as it was seen. The line itself is dropped.
    dropped: Option<Number>,
    output: Arc<Mutex<W>>,
    /// An answer that is being written.
    owed: Option<JoinHandle<io::Result<()>>>,
}

enum Line {
    Whole(Vec<u8>),
    TooLong(Value),
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            dropped: None,
            output: Arc::new(Mutex::new(output)),
            owed: None,
        }
    }

    /// Reads to the end of a line; `None` at the end of the input.
    async fn read(&mut self) -> Option<Line> {
        loop {
            let there = self.input.fill_buf().await.ok()?;
            if there.is_empty() {
                return None;
            }
            let end = there.iter().position(|octet| *octet == b'\n');
            let octets = &there[..end.map_or(there.len(), |at| at + 1)];
            match &mut self.dropped {
                Some(number) => number.read(octets),
                None if self.line.len() + octets.len() > MOST_OF_A_MESSAGE => {
                    let mut number = Number::default();
                    number.read(&std::mem::take(&mut self.line));
                    number.read(octets);
                    self.dropped = Some(number);
                }
                None => self.line.extend_from_slice(octets),
            }
            let taken = octets.len();
            self.input.consume(taken);
            if end.is_some() {
                return Some(match self.dropped.take() {
                    Some(number) => Line::TooLong(number.value()),
                    None => Line::Whole(std::mem::take(&mut self.line)),
                });
            }
        }
    }

    /// Begins to write a line. It is written whole, whoever stops waiting for it.
    fn write(&self, message: &impl Serialize) -> JoinHandle<io::Result<()>> {
        let octets = serde_json::to_vec(message);
        let output = self.output.clone();
        tokio::spawn(async move {
            let mut octets = octets?;
            octets.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&octets).await?;
            output.flush().await
        })
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let written = self.write(&item);
        async move { written.await? }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Before the next line is read: a client that reads nothing is not listened to.
            if let Some(owed) = &mut self.owed {
                let written = owed.await;
                self.owed = None;
                written.ok()?.ok()?;
            }
            let answer = match self.read().await? {
                Line::TooLong(number) => too_long(&number, MOST_OF_A_MESSAGE),
                Line::Whole(line) => match message(&line) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => continue,
                    Err(answer) => answer,
                },
            };
            self.owed = Some(self.write(&answer));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        match self.owed.take() {
            Some(owed) => owed.await?,
            None => Ok(()),
        }
    }
}

/// The longest message of a client, in octets: arguments are short.
const MOST_OF_A_MESSAGE: usize = 1 << 20;

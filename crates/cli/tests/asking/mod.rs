//! A client of `tinygram mcp` that speaks JSON-RPC by hand.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Client {
    pub(crate) process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    /// Starts a server and greets it.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .arg("mcp")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut client = Self {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            last: 0,
        };
        let hello = client.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}
            }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "tinygram", "{hello}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    /// Sends a request and returns its number.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn send_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.send("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Reads the next answer. Every line is one.
    pub(crate) fn read(&mut self) -> Value {
        let mut line = String::new();
        let count = self.output.read_line(&mut line).unwrap();
        assert!(count > 0, "the server has ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool that answers.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_ne!(result["isError"], true, "{tool} {arguments}: {answer}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let told: Value = serde_json::from_str(text).unwrap();
        assert_eq!(told, result["structuredContent"]);
        told
    }

    /// Calls a tool that refuses, and returns why.
    pub(crate) fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{tool} {arguments}: {answer}");
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    /// Closes the server's input, and returns its exit code once it has ended.
    pub(crate) fn close(mut self) -> Option<i32> {
        drop(self.input.take());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

/// Returns a folder of the project.
pub(crate) fn folder(name: &str) -> String {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    project
        .join(name)
        .canonicalize()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

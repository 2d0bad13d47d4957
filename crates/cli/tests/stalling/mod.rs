//! A program that stalls until it is ended.

use std::process::Command;

/// Returns the command of a client and its server: the client asks in two writes, each time when it has its answer.
pub(crate) fn asks_in_two_writes() -> Command {
    let mut python = Command::new("python3");
    python.args(["-c", ASKS]);
    python
}

const ASKS: &str = r#"
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    while end.recv(300, socket.MSG_WAITALL):
        end.sendall(b"!")
threading.Thread(target=serve, daemon=True).start()
end = socket.create_connection(listener.getsockname())
while True:
    end.sendall(b"h" * 100)
    end.sendall(b"b" * 200)
    end.recv(1)
"#;

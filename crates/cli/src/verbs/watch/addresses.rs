//! Addresses as typed: where counts are served, and where they are sent.

use std::net::SocketAddr;

use ureq::http::Uri;

/// Returns the address that was typed: of a port alone, the loopback address.
pub(super) fn of_metrics(typed: &str) -> Result<SocketAddr, String> {
    let loopback = |port: &str| {
        let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
        Some(SocketAddr::from(([127, 0, 0, 1], port)))
    };
    let port = typed.strip_prefix(':').unwrap_or(typed);
    loopback(port)
        .or_else(|| typed.parse().ok())
        .ok_or_else(|| "accepted: a port on the loopback address (9469), or an address with a port (0.0.0.0:9469, [::1]:9469)".to_owned())
}

/// Returns the address of a collector's metrics that was typed.
pub(super) fn of_collector(typed: &str) -> Result<String, String> {
    let accepted = "accepted: HOST, HOST:PORT or http://HOST:PORT/PATH of a collector that takes OTLP over HTTP (port 4318)";
    let text = match typed.contains("://") {
        true => typed.to_owned(),
        false => format!("http://{typed}"),
    };
    let uri: Uri = text.parse().map_err(|_| accepted.to_owned())?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            return Err(format!(
                "this program does not encrypt; {accepted}, as of a collector on the same host"
            ));
        }
        _ => return Err(accepted.to_owned()),
    }
    let authority = uri.authority().filter(|it| !it.as_str().contains('@'));
    let host = authority
        .map(ureq::http::uri::Authority::host)
        .unwrap_or_default();
    if host.is_empty() || uri.query().is_some() || uri.port_u16() == Some(0) {
        return Err(accepted.to_owned());
    }
    let port = match authority.map(|it| it.as_str().len() > host.len()) {
        Some(true) => uri.port_u16().ok_or_else(|| accepted.to_owned())?,
        _ => PORT,
    };
    let path = uri.path().trim_end_matches('/');
    let path = path.strip_suffix(PATH).unwrap_or(path);
    Ok(format!("http://{host}:{port}{path}{PATH}"))
}

const PORT: u16 = 4318;
const PATH: &str = "/v1/metrics";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_the_loopback_address() {
        for typed in ["9469", ":9469", "127.0.0.1:9469"] {
            assert_eq!(
                of_metrics(typed),
                Ok(SocketAddr::from(([127, 0, 0, 1], 9469)))
            );
        }
        assert!(of_metrics("[::]:9469").is_ok_and(|address| !address.ip().is_loopback()));
        for bad in ["", "0", "65536", "localhost", "1.2.3.4"] {
            assert!(of_metrics(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_completed() {
        let whole = "http://collector:4318/v1/metrics";
        for typed in [
            "collector",
            "collector:4318",
            "http://collector",
            "http://collector:4318/",
            "http://collector:4318/v1/metrics",
        ] {
            assert_eq!(of_collector(typed).as_deref(), Ok(whole), "{typed}");
        }
        let v6 = of_collector("[::1]:4319").unwrap();
        assert_eq!(v6, "http://[::1]:4319/v1/metrics");
        let below = of_collector("http://gateway/otlp").unwrap();
        assert_eq!(below, "http://gateway:4318/otlp/v1/metrics");
        for bad in [
            "",
            "https://c",
            "grpc://c",
            "c:0",
            "c:70000",
            "a b",
            "u@c",
            "http://",
            "c/?x=1",
        ] {
            let said = of_collector(bad).unwrap_err();
            assert!(said.contains("accepted"), "{bad}: {said}");
        }
    }
}

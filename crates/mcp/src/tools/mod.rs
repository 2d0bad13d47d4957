//! The tools, one file each: what is asked, which command answers it, and what is told.

mod change;
mod cure;
mod deadlock;
mod diagnose;
mod judged;
mod nagle;
mod prevalence;
mod ps;
mod shared;
mod watch;
mod whatif;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::refusal::Refusal;
use crate::schemas;
use crate::untrusted::escaped;

type Answering = Pin<Box<dyn Future<Output = Result<Value, Refusal>> + Send>>;
type Calling = dyn Fn(Arc<Host>, JsonObject, CancellationToken) -> Answering + Send + Sync;

/// A tool: what clients are told about it, and what it does.
pub(crate) struct Tool {
    pub(crate) listed: rmcp::model::Tool,
    /// The whole schema of its answer; the list has its outline.
    pub(crate) answer: JsonObject,
    call: Box<Calling>,
}

/// What a tool is called, and what it is.
struct About {
    name: &'static str,
    text: &'static str,
    /// The list in its answer that may be long.
    list: Option<&'static str>,
    is_change: bool,
}

/// Returns the tools; those that change something only if something may be changed.
pub(crate) fn all(may_change: bool) -> Vec<Tool> {
    let reads = |name, text, list| About {
        name,
        text,
        list,
        is_change: false,
    };
    let mut tools = vec![
        tool(&reads(nagle::NAME, nagle::ABOUT, None), nagle::call),
        tool(
            &reads(diagnose::NAME, diagnose::ABOUT, Some(diagnose::LIST)),
            diagnose::call,
        ),
        tool(
            &reads(watch::NAME, watch::ABOUT, Some(watch::LIST)),
            watch::call,
        ),
        tool(&reads(ps::NAME, ps::ABOUT, Some(ps::LIST)), ps::call),
        tool(
            &reads(whatif::NAME, whatif::ABOUT, Some(whatif::LIST)),
            whatif::call,
        ),
        tool(&reads(cure::NAME, cure::ABOUT, None), cure::call),
        tool(
            &reads(prevalence::NAME, prevalence::ABOUT, None),
            prevalence::call,
        ),
        tool(
            &reads(deadlock::NAME, deadlock::ABOUT, None),
            deadlock::call,
        ),
    ];
    if may_change {
        let changes = |name, text| About {
            name,
            text,
            list: None,
            is_change: true,
        };
        tools.push(tool(&changes(change::SET, change::ABOUT_SET), change::set));
        tools.push(tool(
            &changes(change::UNDO, change::ABOUT_UNDO),
            change::undo,
        ));
        tools.push(tool(
            &reads(change::LIST, change::ABOUT_LIST, None),
            change::list,
        ));
    }
    tools
}

fn tool<Asked, Told, Work>(
    about: &About,
    work: fn(Arc<Host>, Asked, CancellationToken) -> Work,
) -> Tool
where
    Asked: DeserializeOwned + JsonSchema + 'static,
    Told: Serialize + JsonSchema + 'static,
    Work: Future<Output = Result<Told, Refusal>> + Send + 'static,
{
    let About {
        name,
        text,
        list,
        is_change,
    } = *about;
    let hints = ToolAnnotations::new()
        .read_only(!is_change)
        .destructive(false)
        .open_world(false);
    let mut listed = rmcp::model::Tool::new(name, text, JsonObject::new())
        .with_input_schema::<Asked>()
        .with_output_schema::<Told>()
        .with_annotations(hints);
    listed.input_schema = Arc::new(schemas::of_arguments(&listed.input_schema));
    let answer = listed.output_schema.take().unwrap_or_default();
    let answer = schemas::plain(&answer);
    listed.output_schema = Some(Arc::new(schemas::outline(&answer)));
    let call = move |host: Arc<Host>, asked: JsonObject, stop: CancellationToken| -> Answering {
        Box::pin(async move {
            let cursor = asked
                .get("cursor")
                .and_then(Value::as_str)
                .map(ToOwned::to_owned);
            if let (Some(list), Some(cursor)) = (list, cursor) {
                return host.shelf.next(name, list, &cursor);
            }
            let asked = serde_json::from_value(Value::Object(asked))
                .map_err(|error| wrong(name, &error))?;
            let told = work(host.clone(), asked, stop).await?;
            let told =
                serde_json::to_value(told).map_err(|error| Refusal::asked(error.to_string()))?;
            Ok(match list {
                Some(list) => host.shelf.cut(name, list, told),
                None => told,
            })
        })
    };
    Tool {
        listed,
        answer,
        call: Box::new(call),
    }
}

impl Tool {
    pub(crate) async fn call(
        &self,
        host: Arc<Host>,
        asked: JsonObject,
        stop: CancellationToken,
    ) -> Result<Value, Refusal> {
        (self.call)(host, asked, stop).await
    }
}

/// Says what is wrong with the arguments.
fn wrong(name: &str, error: &serde_json::Error) -> Refusal {
    let error = error.to_string();
    // The names of fields stand in backticks.
    Refusal::asked(format!(
        "{name}: {}",
        escaped(&error.replace('`', "'"), MOST_OF_AN_ERROR)
    ))
}

const MOST_OF_AN_ERROR: usize = 300;

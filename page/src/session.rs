//! Captures that are read step by step, and their diagnosis.

use tinygram_diagnose::{Finding, Parameters};
use tinygram_diagnosis::{
    Capture, Diagnosis, Echo, Work, annotate, audit, groups, html, json, outcome, streams, tables,
};
use tinygram_tables::schemas;
use tinygram_wire::capture::{CaptureError, Reader};

use crate::given;
use crate::host;
use crate::story::Scene;

/// What somebody gave to the page, and what is known of it.
#[derive(Default)]
pub(crate) struct Session {
    names: Vec<String>,
    /// The number of files in each capture that is still to be read.
    captures: Vec<usize>,
    reading: Option<Reading>,
    /// The files of the captures that were begun.
    begun: usize,
    diagnosis: Diagnosis,
    /// Why captures are not in the diagnosis, a sentence each.
    unread: Vec<String>,
    /// What is said beside the report.
    remarks: Vec<String>,
}

/// A capture that is being read.
struct Reading {
    work: Work,
    /// Its files.
    files: std::ops::Range<usize>,
    /// The file that is being read.
    at: usize,
    /// The number of frames before that file.
    before: u64,
    reader: Option<Reader>,
}

/// How a file went on.
enum Went {
    /// There is more of it.
    On,
    /// It is read.
    Ended,
    /// It cannot be read further.
    Broke(CaptureError),
}

impl Session {
    /// Adds a file.
    pub(crate) fn file(&mut self, name: String) {
        self.names.push(name);
    }

    /// Groups the files into captures: the files of a ring buffer are one.
    pub(crate) fn start(&mut self) {
        let captures = streams(&self.names, String::as_str);
        self.captures = captures.into_iter().map(<[String]>::len).collect();
        // The first one is the last, so that it is taken first.
        self.captures.reverse();
    }

    /// Reads up to so many frames; returns whether there is more.
    pub(crate) fn step(&mut self, frames: u32) -> bool {
        let Some(mut reading) = self.reading.take().or_else(|| self.next_capture()) else {
            return false;
        };
        match reading.go_on(&self.names, frames) {
            Ok(true) => self.reading = Some(reading),
            Ok(false) => self.done(reading),
            Err(sentence) => self.unread.push(sentence),
        }
        true
    }

    /// Ends the reading here.
    pub(crate) fn stop(&mut self) {
        self.captures.clear();
        if let Some(reading) = self.reading.take() {
            let frames = reading.work.analyzer.frames();
            let name = &self.names[reading.at];
            let sentence = format!(
                "{name} was stopped after frame {frames}; the report covers the frames before"
            );
            self.remarks.push(sentence);
            self.done(reading);
        }
    }

    fn next_capture(&mut self) -> Option<Reading> {
        let files = self.captures.pop()?;
        let first = self.begun;
        self.begun += files;
        Some(Reading {
            work: Work::new(&Parameters::default()),
            files: first..self.begun,
            at: first,
            before: 0,
            reader: None,
        })
    }

    fn done(&mut self, reading: Reading) {
        let capture = reading.work.done(&self.names[reading.files]);
        self.remarks.extend(capture.remarks.iter().cloned());
        self.diagnosis.add(capture);
    }

    /// Returns what is known so far: the file, and what was counted in its capture.
    pub(crate) fn progress(&self) -> String {
        let Some(reading) = &self.reading else {
            return "{}".to_owned();
        };
        let analyzer = &reading.work.analyzer;
        let so_far = analyzer.summary();
        let stalls = if so_far.has_clock() { so_far.stalls } else { 0 };
        let latest = analyzer.findings().iter().rev();
        let latest = latest
            .filter(|it| stalls > 0 && it.tier().accuses())
            .take(1);
        let latest = latest.map(|it| format!("the {} {}", it.sender, it.habit()));
        serde_json::json!({
            "file": reading.at,
            "frames": so_far.frames,
            "stalls": stalls,
            "cost_ms": so_far.cost_ns / 1_000_000,
            "latest": latest.collect::<String>(),
        })
        .to_string()
    }

    /// Returns the outcome in short.
    pub(crate) fn outcome(&self) -> String {
        let groups = groups(&self.diagnosis);
        let sentences: Vec<_> = groups.iter().map(|it| it.sentence()).collect();
        let total = self.diagnosis.total();
        serde_json::json!({
            "captures": self.diagnosis.captures.len(),
            "frames": total.frames,
            "sentences": sentences,
            "stalls": self.stalls(),
            "outcome": outcome(&self.diagnosis, true),
            "unread": self.unread,
            "remarks": self.remarks,
        })
        .to_string()
    }

    /// Returns the surest stall of each group: its capture, its held frame, and what it is. The surest of all comes first,
    /// and of those that are as sure the costliest group's.
    fn stalls(&self) -> Vec<serde_json::Value> {
        let mut groups = groups(&self.diagnosis);
        groups.retain(|it| it.kind.is_stall());
        groups.sort_by_key(|it| std::cmp::Reverse(it.surest().tier()));
        let told = groups.iter().filter_map(|group| {
            let captures = &self.diagnosis.captures;
            let of = |it: &Capture| std::ptr::eq(it, group.capture);
            let surest = group.surest();
            Some(serde_json::json!({
                "capture": captures.iter().position(of)?,
                "frame": surest.frames.last()?.frame,
                "title": format!("{} by the {}", group.kind.title(), surest.sender),
            }))
        });
        told.collect()
    }

    /// Reads a capture again and returns the story of one of its held frames, as JSON: what `diagnose --explain` tells,
    /// and the same in steps.
    ///
    /// # Errors
    /// If there is no such capture, or its file cannot be read any more.
    pub(crate) fn story(&self, capture: usize, frame: u64) -> Result<String, String> {
        let capture = self.diagnosis.captures.get(capture);
        let capture = capture.ok_or("there is no such capture")?;
        let frames = capture.report.summary.frames;
        let ended = |it: &&Finding| it.frames.last().is_some_and(|mark| mark.frame == frame);
        let finding = capture.report.findings.iter().find(ended);
        let finding = finding.ok_or("no stall ended with this frame")?;
        let connection = capture.connection(finding.connection);
        let connection = connection.ok_or("its connection is not known")?;
        let mut scene = Scene::new(finding, connection, capture.report.summary.first_frame_ns);
        let mut work = Work::new(&Parameters {
            explain: Some(frame),
            ..Parameters::default()
        });
        for source in &capture.sources {
            let octets = (source.open)().map_err(|error| format!("{}: {error}", source.name))?;
            // Damage ends a file; it was reported at the first reading.
            let Ok(mut reader) = Reader::new(octets) else {
                continue;
            };
            while let Ok(Some(frame)) = reader.next_frame() {
                if work.analyzer.frames() == frames {
                    break;
                }
                scene.frame(work.analyzer.frames() + 1, &frame);
                work.analyzer.frame(&frame);
            }
        }
        let mut told = Diagnosis::default();
        told.add(work.done(std::slice::from_ref(&capture.name)));
        Ok(scene.told(audit::story(frame, &told)).to_string())
    }

    /// Returns the page of the diagnosis.
    pub(crate) fn html(&self, origin: String) -> String {
        match html::page(&self.diagnosis, origin) {
            Ok(page) => page.to_html(),
            Err(error) => {
                host::say(&error.to_string());
                String::new()
            }
        }
    }

    /// Writes the JSON document.
    pub(crate) fn json(&mut self) {
        let parameters = Parameters::default();
        let echo = Echo {
            captures: self.names.clone(),
            fail_on: Vec::new(),
            connection_limit: parameters.connection_limit,
            finding_limit: parameters.finding_limit,
        };
        if let Err(error) = json::write(&echo, &self.diagnosis, &mut host::Out) {
            host::say(&error.to_string());
        }
    }

    /// Returns the findings as CSV.
    pub(crate) fn csv(&self) -> String {
        tables::of(&schemas::FINDINGS, &self.diagnosis).to_csv()
    }

    /// Writes a copy of the first capture with comments.
    pub(crate) fn annotated(&self) -> Result<(), String> {
        let capture: Option<&Capture> = self.diagnosis.captures.first();
        let capture = capture.ok_or("there is no capture")?;
        annotate::copy(capture, &mut host::Out).map_err(|reason| reason.to_string())
    }
}

impl Reading {
    /// Reads up to so many frames; returns whether there is more.
    ///
    /// # Errors
    /// A sentence if one of the files has no frame at all.
    fn go_on(&mut self, names: &[String], frames: u32) -> Result<bool, String> {
        match self.read(names, frames) {
            Went::On => return Ok(true),
            Went::Ended => {}
            Went::Broke(error) => {
                let name = &names[self.at];
                self.work.ends_early(name, self.before, error)?;
            }
        }
        self.reader = None;
        self.at += 1;
        Ok(self.at < self.files.end)
    }

    fn read(&mut self, names: &[String], frames: u32) -> Went {
        let file = self.at as u32;
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                self.before = self.work.analyzer.frames();
                self.work.begins(names[self.at].clone(), given::open(file));
                match Reader::new(given::source(file)) {
                    Ok(reader) => none.insert(reader),
                    Err(error) => return Went::Broke(error),
                }
            }
        };
        for _ in 0..frames {
            match reader.next_frame() {
                Ok(Some(frame)) => self.work.analyzer.frame(&frame),
                Ok(None) => return Went::Ended,
                Err(error) => return Went::Broke(error),
            }
        }
        Went::On
    }
}

use tinygram_papers::mogul::{model::Model, published::*, tables::*};
#[allow(clippy::disallowed_methods)]
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let reps: u32 = args[1].parse().unwrap();
    let model = if args.get(3).is_some() {
        Model::Literal
    } else {
        Model::Fitted
    };
    for n in args[2].chars().map(|c| c as u8 - b'0') {
        let t = std::time::Instant::now();
        let w = wanted(n, model, 1);
        let cells = measure(&w, reps, 3, &|_| {});
        let dt = t.elapsed().as_secs_f64();
        let (tr, sg, ev) = cells.iter().fold((0, 0, 0), |a, c| {
            (
                a.0 + c.work.transfers,
                a.1 + c.work.data_segments,
                a.2 + c.work.events,
            )
        });
        let e = entries(&cells);
        let tb = Table::numbered(n).unwrap();
        println!(
            "table {n} mean distance {:.3}  {dt:.2}s {:.0} transfers/s {:.2}M seg/s {:.2}M ev/s",
            mean_distance(tb, &e),
            tr as f64 / dt,
            sg as f64 / dt / 1e6,
            ev as f64 / dt / 1e6
        );
        for row in &tb.rows {
            print!("{:9}", row.variant);
            for (i, (l, p)) in row.cells.iter().enumerate() {
                let x = e
                    .iter()
                    .find(|x| {
                        x.variant == row.variant
                            && x.app_buffer == APP_BUFFERS[i / 3]
                            && x.socket_buffer == SOCKET_BUFFERS[i % 3]
                    })
                    .unwrap();
                let d = x.score_percent - p;
                print!(
                    " {}{:5.1}/{}{:5.1}{}",
                    x.trial.letter(),
                    x.score_percent,
                    l,
                    p,
                    if d.abs() > 1.5 { "*" } else { " " }
                );
            }
            println!();
        }
    }
}

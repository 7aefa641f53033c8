#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs)]
use cellcc_control::Registry;
use cellcc_experiment::*;
use cellcc_sim::SimDriver;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let driver = SimDriver::new(Registry::default());
    let mut file = PlanFile {
        schemes: args[1].split(';').map(String::from).collect(),
        traces: args[2].split(';').map(String::from).collect(),
        duration: args[3].parse().unwrap(),
        ..Default::default()
    };
    if let Some(q) = args.get(4) {
        file.path.queue = q.parse().unwrap();
    }
    if let Some(r) = args.get(5) {
        file.path.rtt = r.parse().unwrap();
    }
    let plan = Plan::new(&file, &driver, "0").unwrap();
    for run in &plan.runs {
        let t = std::time::Instant::now();
        let r = driver.run(&run.scenario).unwrap();
        let m = &r.total;
        if std::env::var("W").is_ok() {
            let w = r.series.column("flow0.window_packets").unwrap_or(&[]);
            for i in 1..w.len() {
                if w[i] < 0.95 * w[i - 1] {
                    print!("[{} {:.0}->{:.0}] ", i, w[i - 1], w[i]);
                }
            }
            println!();
            for i in (200..600).step_by(5) {
                print!("{:.0} ", w.get(i).copied().unwrap_or(0.0));
            }
            println!();
        }
        println!(
            "{:40} util {:.4} thr {:8.2} q {:?} {:?} rtt {:?} {:?} max {:?} lost {} sent {} rtx {} d3 {:?} jain {:?} notes {:?}  {:.2}Mpkt/s",
            run.label(),
            m.utilisation,
            m.throughput_mbit_s,
            m.queueing_delay_mean_ms,
            m.queueing_delay_p95_ms,
            m.rtt_mean_ms,
            m.rtt_p95_ms,
            m.rtt_max_ms,
            m.lost_packets,
            m.sent_packets,
            m.retransmitted_packets,
            m.d3,
            r.jain_index,
            r.notes,
            m.sent_packets as f64 / t.elapsed().as_secs_f64() / 1e6
        );
    }
}

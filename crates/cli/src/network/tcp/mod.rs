//! `cellcc tcp`: schemes in the kernel's TCP.

mod watch;

use crate::exit::{Exit, print, tell};
use crate::grid;
use crate::replay;
use cellcc_kernel::{
    ControlGroup, DEFAULT_FOLDER, KernelError, Machine, Pins, Scheme, Settings, Written, routes,
};
use cellcc_report::TableFormat;
use cellcc_units::instead;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Load schemes; they stay until they are unloaded or the machine restarts.
    #[command(after_help = "\
Examples:
  cellcc tcp load 'reminis(dtt=40ms)'
  iperf3 -c HOST -C cellcc_reminis

Every program may choose a loaded scheme (TCP_CONGESTION), in every network namespace; none uses it by default.")]
    Load(Load),
    /// Unload schemes, and reset namespaces and routes that default to them.
    Unload(Unload),
    /// List loaded schemes and their settings.
    Status(Status),
    /// Change the settings of a loaded scheme, at once and also for live sockets.
    #[command(after_help = "\
Examples:
  cellcc tcp set 'reminis(dtt=60ms)'
  cellcc tcp set 'cellcc_c2tcp(profile=v1,target=80ms)'

`cellcc tcp status` lists the settings of loaded schemes, `cellcc schemes NAME` describes each and its range.")]
    Set(Set),
    /// Replace the programs of loaded schemes by those of this cellcc; live sockets keep the old ones.
    Upgrade(Upgrade),
    /// Show the sockets of this network namespace that use a loaded scheme, live.
    Watch(watch::Watch),
    /// The name of `cellcc replay record` before.
    #[command(hide = true)]
    Record(replay::kernel::Args),
    /// The name of `cellcc replay` for the kernel's decisions before.
    #[command(hide = true)]
    Verify(replay::Args),
    /// Use a scheme only for connections with some addresses.
    #[command(subcommand)]
    Route(Route),
    /// On a user's device: report its number of flows to servers in a TCP option, until interrupted.
    #[command(after_help = "\
Examples:
  cellcc tcp tell-flows /sys/fs/cgroup

Servers with schemes loaded by --hear-flows divide the reported bandwidth by this number (NATCP's beta). With NetAssist, \
a device reports it to the service instead: cellcc assist ue.")]
    TellFlows(watch::TellFlows),
}

/// The folder of pins.
#[derive(Debug, clap::Args)]
pub(crate) struct Where {
    /// Folder of a BPF file system with the pins of loaded schemes.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    pub(crate) pins: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Load {
    /// Schemes: the kernel's name, or the simulator's with its parameters, such as 'reminis(dtt=40ms,aimd=cubic)'.
    #[arg(value_name = "SCHEME", required = true, value_parser = read_scheme)]
    schemes: Vec<Written>,
    /// Let programs of this control group (version 2) set a delay target and a window for their own sockets.
    #[arg(long, value_name = "CGROUP")]
    socket_options: Option<PathBuf>,
    /// Trust the number of flows that users' devices report (`cellcc tcp tell-flows`), on new connections of this control group
    /// (version 2).
    #[arg(long, value_name = "CGROUP")]
    hear_flows: Option<PathBuf>,
    /// Replace the settings and programs of schemes that are already loaded.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    place: Where,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc tcp unload
  cellcc tcp unload cellcc_reminis")]
pub(crate) struct Unload {
    /// Schemes to unload [default: all that are loaded].
    #[arg(value_name = "SCHEME", value_parser = scheme_parser())]
    schemes: Vec<Scheme>,
    #[command(flatten)]
    place: Where,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc tcp upgrade")]
pub(crate) struct Upgrade {
    /// Schemes to upgrade [default: all that are loaded].
    #[arg(value_name = "SCHEME", value_parser = scheme_parser())]
    schemes: Vec<Scheme>,
    #[command(flatten)]
    place: Where,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc tcp status")]
pub(crate) struct Status {
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
    #[command(flatten)]
    place: Where,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Set {
    /// A loaded scheme with its new settings, such as 'reminis(dtt=60ms)'. Settings that are not named stay.
    #[arg(value_name = "SCHEME", value_parser = read_scheme)]
    scheme: Written,
    #[command(flatten)]
    place: Where,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Route {
    /// Use a loaded scheme for connections to and from these addresses, in this network namespace.
    #[command(after_help = "\
Example:
  cellcc tcp route add 10.45.0.0/16 cellcc_natcp")]
    Add {
        /// Addresses such as 10.45.0.0/16 or 2001:db8::/32.
        #[arg(value_name = "PREFIX")]
        prefix: routes::Prefix,
        /// A loaded scheme.
        #[arg(value_name = "SCHEME", value_parser = scheme_parser())]
        scheme: Scheme,
        #[command(flatten)]
        place: Where,
    },
    /// Remove the scheme from the route to exactly these addresses, and the route if `add` made it.
    #[command(after_help = "\
Example:
  cellcc tcp route del 10.45.0.0/16")]
    Del {
        /// Addresses, as they were given to `add`.
        #[arg(value_name = "PREFIX")]
        prefix: routes::Prefix,
    },
    /// List the routes of this network namespace with a cellcc scheme.
    #[command(after_help = "\
Example:
  cellcc tcp route list")]
    List {
        /// Output format.
        #[arg(long, default_value = "table", value_parser = grid::format_parser())]
        format: TableFormat,
    },
}

/// Schemes that are not loaded, as every kernel has them: the registry's name, and Linux's.
const LINUX_HAS: [(&str, &str); 3] = [("cubic", "cubic"), ("newreno", "reno"), ("bbr", "bbr")];

fn read_scheme(text: &str) -> Result<Written, String> {
    let unknown = || {
        let name = text.split('(').next().unwrap_or(text);
        let mut names: Vec<_> = Scheme::ALL.map(Scheme::name).into();
        names.extend(Scheme::ALL.map(Scheme::registry_name));
        names.dedup();
        let there_are = instead(name, "there are", &names.join(", "));
        if let Some((_, own)) = LINUX_HAS.iter().find(|(ours, _)| *ours == name) {
            return format!("Linux has it as `{own}`, which programs choose without cellcc{there_are}");
        }
        match cellcc_schemes::registry().parse(name) {
            Ok(_) => format!("it runs in user space only, as with `cellcc serve --scheme {name}`{there_are}"),
            Err(_) => format!("there is no such scheme{there_are}"),
        }
    };
    Written::read(text).map_err(|error| error.to_string())?.ok_or_else(unknown)
}

fn scheme_parser() -> impl TypedValueParser<Value = Scheme> {
    let names = Scheme::ALL.map(|scheme| PossibleValue::new(scheme.name()).alias(scheme.registry_name()));
    PossibleValuesParser::new(names).try_map(|name| Scheme::known_as(&name).ok_or("no scheme of the kernel"))
}

pub(crate) fn run(command: &Command) -> Result<ExitCode, Exit> {
    match command {
        Command::Load(args) => load(args)?,
        Command::Unload(args) => unload(args)?,
        Command::Status(args) => status(args)?,
        Command::Set(args) => set(args)?,
        Command::Upgrade(args) => upgrade(args)?,
        Command::Watch(args) => watch::watch(args)?,
        Command::Record(args) => return replay::kernel::run(args),
        Command::Verify(args) => return replay::run(args),
        Command::TellFlows(args) => watch::tell_flows(args)?,
        Command::Route(Route::Add { prefix, scheme, place }) => add_route(*prefix, *scheme, place)?,
        Command::Route(Route::Del { prefix }) => remove_route(*prefix)?,
        Command::Route(Route::List { format }) => list_routes(*format)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn load(args: &Load) -> Result<(), Exit> {
    let pins = Pins::new(&args.place.pins);
    let machine = Machine::current();
    // Faults of the input are found before anything is loaded.
    let group = |path: &Option<PathBuf>| path.as_deref().map(ControlGroup::open).transpose();
    let (sets_options, hears_flows) = (group(&args.socket_options)?, group(&args.hear_flows)?);
    for Written { scheme, settings, .. } in &args.schemes {
        if args.replace {
            pins.load_or_replace(*scheme, settings, &machine)?;
        } else {
            pins.load(*scheme, settings, &machine)?;
        }
        tell(&format!("{} is loaded: {}", scheme.name(), described(settings)));
    }
    if let Some(group) = &sets_options {
        pins.offer_socket_options(group)?;
        tell(&format!("programs in {group} can set their own targets and windows"));
    }
    if let Some(group) = &hears_flows {
        pins.hear_flow_counts(group)?;
        tell(&format!("users' devices are believed on new connections in {group}"));
    }
    Ok(())
}

fn unload(args: &Unload) -> Result<(), Exit> {
    let pins = Pins::new(&args.place.pins);
    let schemes = if args.schemes.is_empty() { pins.present() } else { args.schemes.clone() };
    if schemes.is_empty() {
        nothing_to_do(&pins)?;
    }
    for scheme in schemes {
        for reset in pins.unload(scheme)? {
            tell(&format!("{} now uses {}", reset.what, reset.to));
        }
        tell(&format!("{} is unloaded; sockets that use it keep it until they close", scheme.name()));
    }
    Ok(())
}

/// Nothing is loaded here. A scheme that the kernel has all the same is a failure: it was meant, and cannot be reached.
fn nothing_to_do(pins: &Pins) -> Result<(), Exit> {
    match pins.elsewhere(&Scheme::ALL) {
        Some(elsewhere) => Err(elsewhere.into()),
        None => {
            tell("nothing is loaded");
            Ok(())
        }
    }
}

fn upgrade(args: &Upgrade) -> Result<(), Exit> {
    let pins = Pins::new(&args.place.pins);
    let machine = Machine::current();
    let schemes = if args.schemes.is_empty() { pins.loaded() } else { args.schemes.clone() };
    if schemes.is_empty() {
        nothing_to_do(&pins)?;
    }
    for scheme in schemes {
        pins.upgrade(scheme, &machine)?;
        tell(&format!("{} is upgraded; sockets that use it keep the old programs", scheme.name()));
    }
    Ok(())
}

#[derive(Serialize)]
struct StatusObject {
    scheme: &'static str,
    settings: BTreeMap<Cow<'static, str>, String>,
}

fn status(args: &Status) -> Result<(), Exit> {
    let pins = Pins::new(&args.place.pins);
    let (mut rows, mut objects) = (Vec::new(), Vec::new());
    for scheme in pins.loaded() {
        let settings = pins.settings(scheme)?;
        rows.push(vec![scheme.name().to_owned(), described(&settings)]);
        objects.push(StatusObject {
            scheme: scheme.name(),
            settings: settings.values().iter().cloned().collect(),
        });
    }
    match pins.elsewhere(&Scheme::ALL) {
        Some(elsewhere) => tell(&elsewhere.to_string()),
        None if rows.is_empty() => tell(&pins.nothing_loaded().to_string()),
        None => {}
    }
    print(&grid::render(args.format, &["scheme", "settings"], &rows, &objects)?)
}

fn set(args: &Set) -> Result<(), Exit> {
    let Set { scheme: written, place } = args;
    let name = written.scheme.name();
    if written.is_bare() {
        let all = described(&written.settings).replace(' ', ",");
        return Err(Exit::input(format!("nothing to set: name the settings, as in '{name}({all})'")));
    }
    let pins = Pins::new(&place.pins);
    let settings = written.over(&pins.settings(written.scheme)?)?;
    pins.set(written.scheme, &settings)?;
    tell(&format!("{name}: {}", described(&settings)));
    Ok(())
}

fn add_route(prefix: routes::Prefix, scheme: Scheme, place: &Where) -> Result<(), Exit> {
    Pins::new(&place.pins).settings(scheme)?; // It is loaded.
    routes::add(prefix, scheme.name())?;
    tell(&format!("new connections with {prefix} use {}", scheme.name()));
    Ok(())
}

fn remove_route(prefix: routes::Prefix) -> Result<(), Exit> {
    let scheme = routes::remove(prefix)?;
    tell(&format!("new connections with {prefix} no longer use {}", scheme.name()));
    Ok(())
}

#[derive(Serialize)]
struct RouteObject {
    route: String,
    scheme: &'static str,
}

fn list_routes(format: TableFormat) -> Result<(), Exit> {
    let routes = routes::list()?;
    let objects: Vec<_> =
        routes.into_iter().map(|(route, scheme)| RouteObject { route, scheme: scheme.name() }).collect();
    let rows: Vec<_> = objects.iter().map(|one| vec![one.route.clone(), one.scheme.into()]).collect();
    print(&grid::render(format, &["route", "scheme"], &rows, &objects)?)
}

/// `dtt=1.5x profile=paper`.
fn described(settings: &Settings) -> String {
    let values: Vec<_> = settings.values().iter().map(|(name, value)| format!("{name}={value}")).collect();
    values.join(" ")
}

impl From<KernelError> for Exit {
    fn from(error: KernelError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::failed(error) }
    }
}

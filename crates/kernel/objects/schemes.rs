// Written by tools/kernel-objects: the objects of the schemes, by their names.
[
    ("cellcc_c2tcp", include_bytes!("cellcc_c2tcp.bpf.o")),
    ("cellcc_nabbr", include_bytes!("cellcc_nabbr.bpf.o")),
    ("cellcc_nacubic", include_bytes!("cellcc_nacubic.bpf.o")),
    ("cellcc_natcp", include_bytes!("cellcc_natcp.bpf.o")),
    ("cellcc_reminis", include_bytes!("cellcc_reminis.bpf.o")),
    ("cellcc_roccet", include_bytes!("cellcc_roccet.bpf.o")),
    ("cellcc_tide", include_bytes!("cellcc_tide.bpf.o")),
    ("cellcc_vegas", include_bytes!("cellcc_vegas.bpf.o")),
    ("cellcc_westwood", include_bytes!("cellcc_westwood.bpf.o")),
    ("reminis_cubic", include_bytes!("reminis_cubic.bpf.o")),
]

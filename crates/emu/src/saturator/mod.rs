//! Records a trace of a real path: a link that always has something to carry shows what it can.

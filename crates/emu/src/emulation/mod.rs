//! Two threads, one per direction, that carry packets between devices on the path's schedule.

//! Network namespaces, their devices and addresses.

//! Files from anybody: what is no conversation is refused, and what is one can be shown.

#![no_main]

use cellcc_control::conversation::Conversation;
use libfuzzer_sys::fuzz_target;

/// A block with the head that its bytes need: the fuzzer would not find the checksum.
fn block(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("libFuzzer's inputs are short");
    [&length.to_le_bytes()[..], &crc32fast::hash(bytes).to_le_bytes(), bytes].concat()
}

/// A header: three texts with their lengths, and as the only number that is not zero a packet of 1500 bytes.
fn header() -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [text("controller"), text("cubic"), vec![1, 0xb8, 0x17], text("0")].concat()
}

fn show(file: &[u8]) {
    let Ok(mut conversation) = Conversation::new(file) else { return };
    while let Ok(Some(turn)) = conversation.next_turn() {
        turn.call.inputs();
        turn.decision.fields();
    }
}

fuzz_target!(|data: &[u8]| {
    show(data);
    let whole = [&b"cellconv\x01"[..], &block(&header()), &block(data), &block(&[])].concat();
    assert!(Conversation::new(&whole[..]).is_ok());
    show(&whole);
});

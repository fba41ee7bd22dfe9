// A Rust program whose thread has labels, if it was started with the preload. No crate is needed.
// usage: rustc -O -g labels.rs && swipr record -o app.swipr -- ./labels && swipr report app.swipr
use std::ffi::{c_char, c_int, c_void};

// struct swipr_label_functions of swipr.h
#[repr(C)]
struct Functions {
    set_label: unsafe extern "C" fn(*const u8, usize, *const u8, usize) -> c_int,
    begin_scope: unsafe extern "C" fn(*mut [u8; 128], *const u8, usize, *const u8, usize) -> c_int,
    end_scope: unsafe extern "C" fn(*const [u8; 128]),
}

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *const Functions;
}

fn functions() -> Option<&'static Functions> {
    static FOUND: std::sync::OnceLock<Option<&'static Functions>> = std::sync::OnceLock::new();
    *FOUND.get_or_init(|| unsafe { dlsym(std::ptr::null_mut(), b"swipr_labels_1\0".as_ptr().cast()).as_ref() })
}

/// A label of the calling thread, as long as this lives.
struct Label([u8; 128]);

impl Label {
    fn new(key: &str, value: &str) -> Label {
        let mut label = Label([0; 128]);
        if let Some(found) = functions() {
            unsafe { (found.begin_scope)(&mut label.0, key.as_ptr(), key.len(), value.as_ptr(), value.len()) };
        }
        label
    }
}

impl Drop for Label {
    fn drop(&mut self) {
        if let Some(found) = functions() {
            unsafe { (found.end_scope)(&self.0) };
        }
    }
}

fn main() {
    for (count, value) in [(2u64, "ten"), (4, "twenty"), (14, "seventy")] {
        let _label = Label::new("share", value);
        let sum = (0..count * 60_000_000).fold(1u64, |sum, number| std::hint::black_box(sum.wrapping_mul(31) ^ number));
        std::hint::black_box(sum);
    }
    if let Some(found) = functions() {
        unsafe { (found.set_label)(b"done".as_ptr(), 4, b"yes".as_ptr(), 3) };
    }
    println!("{}", if functions().is_some() { "labelled" } else { "not started with the preload" });
}

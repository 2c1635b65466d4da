//! Ctrl-C: the first one ends the phase and keeps what was measured, the second one quits.

use crate::screen::tell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use judge::Exit;
use load::engine::Control;

/// From now on the control is told. Before anything shows that the program is at work: who sees it may
/// interrupt it.
pub fn watch(control: &Control) -> anyhow::Result<()> {
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let control = control.clone();
    ctrlc::set_handler(move || match TIMES.fetch_add(1, Ordering::Relaxed) {
        0 => {
            control.stop();
            super::stage::restore();
            tell!("\nstopping; once more to quit without a result");
        }
        _ => {
            super::stage::restore();
            super::held::give_back();
            crate::serving::clear();
            std::process::exit(Exit::Interrupted.code().into());
        }
    })?;
    Ok(())
}

/// Is set by the first Ctrl-C, for work that ends by itself when it sees that; the second one quits.
pub fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if told.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted.code().into());
        }
    })?;
    Ok(stop)
}

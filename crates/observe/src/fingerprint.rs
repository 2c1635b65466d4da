//! On what a result was measured: results of two machines, or of one before and after a setting
//! was changed, must not be taken for each other.

use record::run::{Build, Figure as Recorded, Fingerprint};

use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::processors::listed;
use crate::tree::Tree;

/// Takes the fingerprint of this machine and program, now: the machine, its settings and the
/// build, as far as they change what is measured.
pub fn fingerprint() -> Fingerprint {
    let cpuinfo = files::text(CPUINFO);
    let of_cpuinfo = cpuinfo.as_deref().map_err(Clone::clone);
    let cores = std::thread::available_parallelism();
    Fingerprint {
        host: Recorded::from(files::line("/proc/sys/kernel/hostname")),
        kernel: Recorded::from(kernel()),
        cpu: Recorded::from(of_cpuinfo.clone().and_then(model)),
        cryptography: Recorded::from(of_cpuinfo.clone().and_then(cryptography)),
        cores: Recorded::from(
            cores
                .map(|cores| cores.get() as u64)
                .map_err(|error| NotAvailable::because(error.to_string())),
        ),
        cores_online: Recorded::from(
            files::line(&cpus("online")).and_then(|list| Ok(listed(&list)?.len() as u64)),
        ),
        ram_bytes: Recorded::from(
            files::text("/proc/meminfo")
                .and_then(|text| files::keyed(&text, "MemTotal", "/proc/meminfo"))
                .map(|kibibytes| kibibytes * 1024),
        ),
        governor: Recorded::from(governor()),
        // The file is empty when no core is isolated, and that is an answer.
        isolated: Recorded::from(files::text(&cpus("isolated")).map(|list| list.trim().to_owned())),
        virtualisation: Recorded::from(of_cpuinfo.and_then(virtualisation)),
        libc: Recorded::from(libc()),
        storage: Recorded::from(storage(&Tree::here())),
        clock_source: Recorded::from(files::line(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )),
        network: Recorded::from(network()),
        build: build(),
    }
}

fn build() -> Build {
    let rustc = match env!("OBSERVE_RUSTC") {
        "" => Err(NotAvailable::because(
            "the compiler did not say its version",
        )),
        version => Ok(version.to_owned()),
    };
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rustc: Recorded::from(rustc),
        target: env!("OBSERVE_TARGET").to_owned(),
        profile: format!(
            "{}, opt-level {}",
            env!("OBSERVE_PROFILE"),
            env!("OBSERVE_OPT_LEVEL")
        ),
        flags: env!("OBSERVE_FLAGS").to_owned(),
        debug_assertions: cfg!(debug_assertions),
    }
}

const CPUINFO: &str = "/proc/cpuinfo";

fn cpus(file: &str) -> String {
    format!("/sys/devices/system/cpu/{file}")
}

fn kernel() -> Figure<String> {
    let name = files::line("/proc/sys/kernel/ostype")?;
    let release = files::line("/proc/sys/kernel/osrelease")?;
    Ok(format!("{name} {release}"))
}

fn model(cpuinfo: &str) -> Figure<String> {
    // On x86 it is "model name"; ARM boards name the whole board in "Model", or nothing at all.
    let named = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    };
    named("model name")
        .or_else(|| named("Model"))
        .or_else(|| named("Hardware"))
        .ok_or_else(|| NotAvailable::because("/proc/cpuinfo names no model"))
}

/// On x86 the kernel has them among the flags, on ARM among the features.
fn cryptography(cpuinfo: &str) -> Figure<String> {
    const NAMES: [&str; 9] = [
        "aes",
        "vaes",
        "pclmulqdq",
        "sha_ni",
        "sha512",
        "pmull",
        "sha1",
        "sha2",
        "sha3",
    ];
    let has = cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        matches!(name.trim(), "flags" | "Features").then_some(value)
    });
    let has = has.ok_or_else(|| NotAvailable::because("/proc/cpuinfo names no flags"))?;
    let found: Vec<_> = NAMES
        .into_iter()
        .filter(|name| has.split_whitespace().any(|it| it == *name))
        .collect();
    Ok(match found.is_empty() {
        true => "none".to_owned(),
        false => found.join(", "),
    })
}

fn governor() -> Figure<String> {
    let mut governors = Vec::new();
    for name in files::names(&cpus(""))? {
        let is_core = name
            .strip_prefix("cpu")
            .is_some_and(|number| number.parse::<u32>().is_ok());
        if !is_core {
            continue;
        }
        if let Ok(governor) = files::line(&cpus(&format!("{name}/cpufreq/scaling_governor"))) {
            governors.push(governor);
        }
    }
    governors.sort();
    governors.dedup();
    match governors.is_empty() {
        true => Err(NotAvailable::because(
            "no core has a cpufreq driver (usual in virtual machines)",
        )),
        false => Ok(governors.join(", ")),
    }
}

fn virtualisation(cpuinfo: &str) -> Figure<String> {
    for file in ["/sys/hypervisor/type", "/sys/class/dmi/id/product_name"] {
        if let Ok(name) = files::line(file)
            && let Some(hypervisor) = hypervisor(&name)
        {
            return Ok(hypervisor.to_owned());
        }
    }
    // Paravirtual clocks are offered by the hypervisor that they are named after.
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    // A machine that does not list them says nothing here; others are asked below.
    let clocks = files::line(clocks).unwrap_or_default();
    let paravirtual = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
    if let Some((_, name)) = paravirtual.iter().find(|(clock, _)| clocks.contains(clock)) {
        return Ok((*name).to_owned());
    }
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    match flags {
        Some(flags) if flags.split_whitespace().any(|flag| flag == "hypervisor") => {
            Ok("yes".to_owned())
        }
        Some(_) => Ok("no".to_owned()),
        None => Err(NotAvailable::because(
            "/proc/cpuinfo has no flags on this architecture",
        )),
    }
}

/// The hypervisor behind what a machine says it is.
fn hypervisor(product: &str) -> Option<&str> {
    let known = [
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("KVM", "KVM"),
        ("Standard PC", "QEMU"),
        ("Virtual Machine", "Hyper-V"),
        ("HVM domU", "Xen"),
        ("xen", "Xen"),
    ];
    let found = known.iter().find(|(part, _)| product.contains(part));
    found.map(|(_, name)| *name)
}

/// What the kernel mapped into this process, and the version that stands in it.
fn libc() -> Figure<String> {
    if cfg!(target_env = "musl") {
        return Ok("musl, in the program".to_owned());
    }
    let maps = files::text("/proc/self/maps")?;
    let mut paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let path = paths.find(|path| {
        path.rsplit('/')
            .next()
            .is_some_and(|it| it.starts_with("libc.so"))
    });
    let path =
        path.ok_or_else(|| NotAvailable::because("no C library is mapped into the program"))?;
    let bytes =
        std::fs::read(path).map_err(|error| NotAvailable::because(format!("{path}: {error}")))?;
    release(&bytes).ok_or_else(|| NotAvailable::because(format!("{path} does not say its version")))
}

/// glibc has it in a sentence of its own: `GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.`
fn release(library: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"GNU C Library (";
    let at = library.windows(MARK.len()).position(|it| it == MARK)?;
    let line = library
        .get(at..)?
        .split(|it| matches!(it, b'\n' | 0))
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (package, version) = line.split_once('(')?.1.split_once(')')?;
    let version = version.rsplit_once("version ")?.1.trim_end_matches('.');
    Some(format!("glibc {version} ({package})"))
}

/// Disks, and no devices that the kernel makes up from memory, files or other disks.
fn storage(tree: &Tree) -> Figure<Vec<String>> {
    /// The kernel counts in these, whatever the disk does.
    const SECTOR: u64 = 512;
    const MADE_UP: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "sr"];
    let disks = tree.names("/sys/block")?.into_iter();
    let disks = disks.filter(|name| !MADE_UP.iter().any(|it| name.starts_with(it)));
    let told = |name: String| {
        let file = |file: &str| format!("/sys/block/{name}/{file}");
        let size = tree.number::<u64>(&file("size"));
        let size = size
            .map(|sectors| format!("{} GiB", (sectors * SECTOR) >> 30))
            .ok();
        let bus = tree.line(&file("device/modalias")).ok();
        let bus = bus
            .as_deref()
            .and_then(|it| it.split_once(':'))
            .map(|it| it.0.to_owned());
        // A disk of a hypervisor says that it turns, too.
        let turns = match tree.number::<u8>(&file("queue/rotational")) {
            Ok(1) if bus.as_deref() != Some("virtio") => Some("rotating".to_owned()),
            _ => None,
        };
        let model = tree.line(&file("device/model")).ok();
        let words = [Some(name), size, model, bus, turns];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    Ok(disks.map(told).collect())
}

fn network() -> Figure<Vec<String>> {
    let mut interfaces = Vec::new();
    for name in files::names("/sys/class/net")? {
        let of = |file: &str| files::line(&format!("/sys/class/net/{name}/{file}"));
        // The loopback's state is unknown to the kernel, and it is up all the same. One whose state cannot be read has gone.
        let state = of("operstate").unwrap_or_default();
        if state != "up" && name != "lo" {
            continue;
        }
        let mut words = vec![name.clone()];
        if let Ok(mtu) = of("mtu") {
            words.push(format!("MTU {mtu}"));
        }
        // Virtual interfaces have no speed, or -1.
        if let Ok(speed) = of("speed")
            && let Ok(speed) = speed.parse::<u64>()
        {
            words.push(format!("{speed} Mbit/s"));
        }
        if let Ok(modalias) = of("device/modalias")
            && let Some((bus, _)) = modalias.split_once(':')
        {
            words.push(bus.to_owned());
        }
        interfaces.push(words.join(", "));
    }
    interfaces.sort();
    Ok(interfaces)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn instructions_for_cryptography_are_those_that_the_kernel_names() {
        let pc = "flags\t\t: fpu aes avx2 vaes sha_ni\n";
        assert_eq!(cryptography(pc).unwrap(), "aes, vaes, sha_ni");
        let board = "Features\t: fp asimd crc32\n";
        assert_eq!(cryptography(board).unwrap(), "none");
        assert!(cryptography("processor\t: 0\n").is_err());
    }

    #[test]
    fn a_c_library_is_named_by_its_own_sentence() {
        let library = b"\x7fELF..\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopyright";
        let glibc = "glibc 2.36 (Debian GLIBC 2.36-9+deb12u14)";
        assert_eq!(release(library).as_deref(), Some(glibc));
        assert_eq!(release(b"\x7fELF musl"), None);
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            let here = libc().unwrap();
            assert!(here.starts_with("glibc 2."), "{here}");
        }
    }

    #[test]
    fn disks_are_named_and_what_the_kernel_makes_up_is_not() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("loop0/size", "8\n"),
            ("nvme0n1/size", "1000215216\n"),
            ("nvme0n1/device/model", "Samsung SSD 980\n"),
            ("nvme0n1/queue/rotational", "0\n"),
            ("sda/size", "3907029168\n"),
            ("sda/queue/rotational", "1\n"),
            ("vda/size", "536870912\n"),
            ("vda/queue/rotational", "1\n"),
            ("vda/device/modalias", "virtio:d00000002v00001AF4\n"),
        ] {
            let path = folder.path().join("sys/block").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let disks = storage(&Tree::at(folder.path()));
        if !platform::System::IS_LINUX {
            assert!(disks.is_err());
            return;
        }
        let expected = [
            "nvme0n1, 476 GiB, Samsung SSD 980",
            "sda, 1863 GiB, rotating",
            "vda, 256 GiB, virtio",
        ];
        assert_eq!(disks.unwrap(), expected);
    }

    #[test]
    fn a_board_without_a_model_name_is_named_after_the_board() {
        let pi =
            "processor\t: 0\nBogoMIPS\t: 108.00\n\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n";
        assert_eq!(model(pi).unwrap(), "Raspberry Pi 4 Model B Rev 1.4");
        let pc = "model\t\t: 2\nmodel name\t: AMD EPYC\n";
        assert_eq!(model(pc).unwrap(), "AMD EPYC");
        assert!(model("processor\t: 0\n").is_err());
    }

    #[test]
    fn a_product_name_gives_the_hypervisor_away() {
        assert_eq!(hypervisor("VMware20,1"), Some("VMware"));
        assert_eq!(hypervisor("Standard PC (Q35 + ICH9, 2009)"), Some("QEMU"));
        assert_eq!(hypervisor("PowerEdge R650"), None);
    }

    #[test]
    fn the_build_says_what_it_was_built_with() {
        let build = build();
        assert!(build.rustc.known().unwrap().starts_with("rustc "));
        assert!(build.target.contains(std::env::consts::ARCH));
        assert_eq!(build.debug_assertions, build.profile.starts_with("debug"));
    }
}

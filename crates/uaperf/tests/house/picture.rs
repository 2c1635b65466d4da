//! The picture of the crates is made of the manifests, so that it is never out of date.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use crate::arrows::{LAYERS, OUTSIDE, workspace};
use crate::files::root;

const PICTURE: &str = "docs/pictures/crates.svg";
const WIDTH: usize = 980;
const BOX: (usize, usize) = (112, 34);
const ROW: usize = 92;
const EDGE: usize = 28;

type Uses = BTreeMap<String, BTreeSet<String>>;

/// What each crate of the house uses when it is built, tests apart.
fn uses() -> Uses {
    let (crates, arrows) = workspace(false);
    let inside = |name: &String| !OUTSIDE.contains(&name.as_str());
    let mut uses: Uses = Uses::new();
    for name in crates.into_iter().filter(inside) {
        uses.insert(name, BTreeSet::new());
    }
    for (from, to) in arrows {
        if let Some(all) = uses.get_mut(&from).filter(|_| inside(&to)) {
            all.insert(to);
        }
    }
    uses
}

/// What can be reached from a crate along arrows.
fn reach(uses: &Uses, from: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for to in uses.get(from).into_iter().flatten() {
        all.insert(to.clone());
        all.extend(reach(uses, to));
    }
    all
}

/// The arrows that do not follow from others.
fn plain(uses: &Uses) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (from, to) in uses {
        for one in to {
            let others = to.iter().filter(|other| *other != one);
            if !others.into_iter().any(|it| reach(uses, it).contains(one)) {
                all.push((from.clone(), one.clone()));
            }
        }
    }
    all
}

/// How many arrows stand on top of each other below a crate, within its layer.
fn depth(uses: &Uses, name: &str, layer: &[&str]) -> usize {
    let below = uses.get(name).into_iter().flatten();
    let below = below.filter(|it| layer.contains(&it.as_str()));
    below
        .map(|it| depth(uses, it, layer) + 1)
        .max()
        .unwrap_or(0)
}

/// The layers as rows; a layer in which crates use each other is several.
fn rows(uses: &Uses) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for layer in LAYERS {
        let deep = |name: &&&str| depth(uses, name, layer);
        let deepest = layer.iter().map(|it| deep(&it)).max().unwrap_or(0);
        for height in (0..=deepest).rev() {
            let row = layer.iter().filter(|it| deep(it) == height);
            rows.push(row.map(|it| (*it).to_owned()).collect());
        }
    }
    rows
}

fn drawn() -> String {
    let uses = uses();
    let rows = rows(&uses);
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (y, row) in rows.iter().enumerate() {
        for (x, name) in row.iter().enumerate() {
            let middle = WIDTH * (2 * x + 1) / (2 * row.len());
            places.insert(name, (middle, EDGE + y * ROW));
        }
    }
    let height = 2 * EDGE + (rows.len() - 1) * ROW + BOX.1;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"15\">\n<title>The crates of uaperf: an arrow leads from a crate to one that it uses</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#57606a\"/></marker>\n"
    );
    for (from, to) in plain(&uses) {
        let ((x, y), (to_x, to_y)) = (places[from.as_str()], places[to.as_str()]);
        let (y, to_y) = (y + BOX.1, to_y - 1);
        let bend = (to_y - y) / 2;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {y}C{x} {} {to_x} {} {to_x} {to_y}\" fill=\"none\" stroke=\"#57606a\" \
             stroke-opacity=\".6\" marker-end=\"url(#tip)\"/>",
            y + bend,
            to_y - bend
        );
    }
    for (name, (x, y)) in places {
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"#eaf2fb\" stroke=\"#0550ae\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#1f2328\">{name}</text>",
            x - BOX.0 / 2,
            BOX.0,
            BOX.1,
            y + 22
        );
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_of_the_crates_is_that_of_the_manifests() {
    let (file, drawn) = (root().join(PICTURE), drawn());
    if std::env::var_os("UAPERF_WRITE_DOCS").is_some() {
        fs::write(file, drawn).unwrap();
        return;
    }
    let kept = fs::read_to_string(file).unwrap_or_default();
    assert!(
        kept == drawn,
        "{PICTURE} is not up to date: run this test with UAPERF_WRITE_DOCS=1"
    );
}

//! A page in Prometheus's text format 0.0.4 as OpenMetrics 1.0 wants it.

/// What such a page is called.
pub const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether an `Accept` header asks for it, and does not like plain text better.
pub fn is_wanted(accept: &str) -> bool {
    let (mut open, mut plain) = (0.0, 0.0);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (mut weight, mut known) = (1.0_f64, true);
        for (name, value) in parts.filter_map(|it| it.split_once('=')) {
            match name.trim() {
                // One that is no number is as good as none wanted.
                "q" => weight = value.trim().parse().unwrap_or(0.0),
                "version" => known = value.trim() == "1.0.0",
                _ => {}
            }
        }
        match kind.as_str() {
            "application/openmetrics-text" if known => open = weight,
            "text/plain" => plain = weight,
            _ => {}
        }
    }
    open > 0.0 && open >= plain
}

/// The page: families of counters without `_total`, their units, bounds as floats, and an end.
pub fn of(text: &str) -> String {
    let mut page = String::new();
    let mut help = None;
    for line in text.lines() {
        if let Some(about) = line.strip_prefix("# HELP ") {
            help = about.split_once(' ');
        } else if let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|it| it.split_once(' '))
        {
            let family = match kind {
                "counter" => name.strip_suffix("_total").unwrap_or(name),
                _ => name,
            };
            let kind = if kind == "untyped" { "unknown" } else { kind };
            page += &format!("# TYPE {family} {kind}\n");
            if let Some(unit) = ["seconds", "bytes"]
                .into_iter()
                .find(|it| family.ends_with(&format!("_{it}")))
            {
                page += &format!("# UNIT {family} {unit}\n");
            }
            if let Some((_, about)) = help.take().filter(|it| it.0 == name) {
                page += &format!("# HELP {family} {}\n", about.replace('"', "\\\""));
            }
        } else {
            page += &bounded(line);
            page.push('\n');
        }
    }
    page + "# EOF\n"
}

/// A sample whose bound, if it has one, is a float in its canonical form: 1.0, and 1e-05 below 0.0001.
fn bounded(line: &str) -> String {
    let Some((before, rest)) = line.rsplit_once(",le=\"") else {
        return line.to_owned();
    };
    let Some((bound, after)) = rest.split_once('"') else {
        return line.to_owned();
    };
    let bound = match bound.parse::<f64>() {
        Ok(it) if it.is_infinite() || it.is_nan() => bound.to_owned(),
        Ok(it) if it > 0.0 && it < 1e-4 => match format!("{it:e}").split_once("e-") {
            Some((digits, power)) => format!("{digits}e-{power:0>2}"),
            None => bound.to_owned(),
        },
        Ok(it) => format!("{it:?}"),
        Err(_) => bound.to_owned(),
    };
    format!("{before},le=\"{bound}\"{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_no_total_and_bounds_are_floats() {
        let text = "# HELP a_seconds_total Says \"so\".\n# TYPE a_seconds_total counter\na_seconds_total{x=\"1\"} 2\n\
                    # HELP b_seconds B.\n# TYPE b_seconds histogram\nb_seconds_bucket{x=\"1\",le=\"0.00001\"} 1\n\
                    b_seconds_bucket{x=\"1\",le=\"5\"} 1\nb_seconds_bucket{x=\"1\",le=\"+Inf\"} 1\n";
        let page = "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds Says \\\"so\\\".\n\
                    a_seconds_total{x=\"1\"} 2\n# TYPE b_seconds histogram\n# UNIT b_seconds seconds\n# HELP b_seconds B.\n\
                    b_seconds_bucket{x=\"1\",le=\"1e-05\"} 1\nb_seconds_bucket{x=\"1\",le=\"5.0\"} 1\n\
                    b_seconds_bucket{x=\"1\",le=\"+Inf\"} 1\n# EOF\n";
        assert_eq!(of(text), page);
    }

    #[test]
    fn who_likes_plain_text_better_or_wants_another_version_gets_that() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert!(is_wanted(prometheus));
        assert!(!is_wanted("application/openmetrics-text;version=9.0.0"));
        assert!(!is_wanted("application/openmetrics-text;q=0.2,text/plain"));
        assert!(!is_wanted("*/*") && !is_wanted("application/openmetrics-text;q=0"));
    }
}

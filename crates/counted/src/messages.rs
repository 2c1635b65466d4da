//! Messages: written from templates, checked, and walked through.

use std::hint::black_box;

use wire::template::{PublishTemplate, Template, walk};
use wire::types::{SubscriptionAcknowledgement, Variant};

#[path = "../../wire/tests/messages/mod.rs"]
mod examples;

/// Each path is what the arm of its name does.
pub fn run(path: &str, rounds: u32) {
    let owned = examples::context();
    let context = owned.context();
    match path {
        "send-read" => {
            let template = Template::new(&examples::read_request(1), &context).unwrap();
            let mut out = vec![0; template.len()];
            for handle in 0..rounds {
                template.write(black_box(&mut out), handle, 1).unwrap();
            }
        }
        "send-publish" => {
            let template = PublishTemplate::new(examples::request_header(), &context).unwrap();
            let mut out = vec![0; template.len_with(1)];
            for handle in 0..rounds {
                let acknowledged = [SubscriptionAcknowledgement {
                    subscription_id: 1,
                    sequence_number: handle,
                }];
                let out = black_box(&mut out);
                template.write(out, handle, 1, &acknowledged).unwrap();
            }
        }
        "check-read-1" => check_read(examples::doubles(1, false), rounds),
        "check-read-100" => check_read(examples::doubles(100, false), rounds),
        "check-read-100-timestamps" => check_read(examples::doubles(100, true), rounds),
        "check-read-100-statuses" => {
            let mut values = examples::doubles(100, true);
            for value in &mut values {
                // Good, but for a bit that makes it worth a place on the wire.
                value.status = Some(0x0000_0400.into());
            }
            check_read(values, rounds);
        }
        "check-read-100-mixed" => {
            let mut values = examples::doubles(100, true);
            for value in values.iter_mut().step_by(2) {
                value.value = Some(Variant::Int32(1));
            }
            check_read(values, rounds);
        }
        "read-values-100" => {
            let body = examples::encode(&examples::read_response(examples::doubles(100, true)));
            for _ in 0..rounds {
                let mut sum = 0.0;
                for value in walk::read_values(black_box(&body)).unwrap() {
                    sum += value.unwrap().value.unwrap().as_f64().unwrap();
                }
                black_box(sum);
            }
        }
        "check-write-100" => {
            let body = examples::encode(&examples::write_response(100));
            for _ in 0..rounds {
                black_box(walk::check_write(black_box(&body), 100).unwrap());
            }
        }
        "notifications-100" => {
            let mut last = [0; 100];
            each_data_change(rounds, |items| {
                for item in items {
                    let item = item.unwrap();
                    let overflow = item.value.overflowed();
                    last[item.client_handle as usize] += u32::from(overflow) + 1;
                }
            });
            black_box(last);
        }
        "changes-100" => {
            let mut last = [0; 100];
            each_data_change(rounds, |items| {
                let told = items.each(|it| last[it.client_handle as usize] ^= it.source);
                told.unwrap();
            });
            black_box(last);
        }
        "serve-read-100" => {
            let body = examples::encode(&examples::read_request(100));
            for _ in 0..rounds {
                let request = walk::ReadRequest::parse(black_box(&body)).unwrap();
                for node in request.nodes {
                    black_box(node.unwrap());
                }
            }
        }
        _ => panic!("no path is called {path:?}"),
    }
}

fn each_data_change(rounds: u32, mut look: impl FnMut(walk::DataChange<'_>)) {
    let body = examples::encode(&examples::publish_response(100));
    for _ in 0..rounds {
        let response = walk::PublishResponse::parse(black_box(&body)).unwrap();
        for notification in response.notifications() {
            let walk::Notification::DataChange(items) = notification.unwrap() else {
                panic!("a data change was encoded");
            };
            look(items);
        }
    }
}

fn check_read(values: Vec<wire::types::DataValue>, rounds: u32) {
    let n = values.len();
    let body = examples::encode(&examples::read_response(values));
    for _ in 0..rounds {
        black_box(walk::check_read(black_box(&body), n).unwrap());
    }
}

use std::sync::Arc;

use super::*;

#[test]
fn the_register_knows_where_a_subscription_lives_until_it_is_gone() {
    let register = Register::default();
    let record = Arc::new(SubscriptionRecord::new(7));
    register.add_subscription(&record, 1);
    assert_eq!(register.home_of(7), Some(1));
    register.add_subscription(&record, 2);
    assert_eq!(register.home_of(7), Some(2));
    register.drop_subscription(7);
    assert_eq!(register.home_of(7), None);
}

use jiff::{SignedDuration, Timestamp};
use memory::ports::IdGenerator;
use testkit::SequentialIds;
use uuid::{Uuid, Variant};

fn moment() -> Timestamp {
    "2026-03-05T15:00:00.123Z".parse().unwrap()
}

#[test]
fn they_are_uuids_of_version_7_and_tell_their_time() {
    let id = SequentialIds::new(1).next(moment());
    assert_eq!((id.get_version_num(), id.get_variant()), (7, Variant::RFC4122));
    let (seconds, nanoseconds) = id.get_timestamp().unwrap().to_unix();
    assert_eq!(
        Timestamp::new(seconds.try_into().unwrap(), nanoseconds.try_into().unwrap()).unwrap(),
        moment()
    );
}

#[test]
fn they_sort_in_the_order_of_their_making_though_the_clock_goes_back() {
    let ids = SequentialIds::new(7);
    let made: Vec<Uuid> = (0..5_000)
        .map(|step| ids.next(moment() + SignedDuration::from_secs([0, 5, -3600, 5][step % 4])))
        .collect();
    assert!(made.is_sorted_by(|a, b| a < b));
    assert!(made.iter().map(Uuid::to_string).is_sorted());
}

#[test]
fn a_seed_repeats_and_another_seed_differs() {
    let made = |seed| {
        let ids = SequentialIds::new(seed);
        (0..100).map(|_| ids.next(moment())).collect::<Vec<_>>()
    };
    assert_eq!(made(1), made(1));
    assert!(made(1).iter().all(|id| !made(2).contains(id)));
}

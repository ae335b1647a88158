use proptest::prelude::*;

use super::*;

/// Wednesday, 12 June 2024, shortly after midnight in Shanghai, still Tuesday in London.
fn now() -> Timestamp {
    "2024-06-12T01:00:00+08:00".parse().unwrap()
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn spans_at(text: &str, now: Timestamp, zone: &TimeZone, week_start: Weekday) -> Vec<String> {
    let date = |moment: Timestamp| moment.to_zoned(zone.clone()).date().to_string();
    let span = |(a, b): (Timestamp, Timestamp)| {
        let (a, b) = (date(a), date(b));
        if a == b { a } else { format!("{a}..{b}") }
    };
    named_times(text, now, zone, week_start).into_iter().map(span).collect()
}

fn spans(text: &str) -> Vec<String> {
    spans_at(text, now(), &zone("Asia/Shanghai"), Weekday::Monday)
}

fn times_asked_on(day: &str, text: &str) -> Vec<String> {
    let noon: Timestamp = format!("{day}T12:00:00Z").parse().unwrap();
    spans_at(text, noon, &TimeZone::UTC, Weekday::Monday)
}

#[test]
fn english_times() {
    let cases: [(&str, &[&str]); 50] = [
        ("What did I do yesterday?", &["2024-06-11"]),
        ("the day before yesterday", &["2024-06-10"]),
        ("the day after tomorrow", &["2024-06-14"]),
        ("last night", &["2024-06-11"]),
        ("tomorrow at 5", &["2024-06-13"]),
        ("Last week we met", &["2024-06-03..2024-06-09"]),
        ("this week", &["2024-06-10..2024-06-16"]),
        ("next week", &["2024-06-17..2024-06-23"]),
        ("last weekend", &["2024-06-08..2024-06-09"]),
        ("this weekend", &["2024-06-15..2024-06-16"]),
        ("last month", &["2024-05-01..2024-05-31"]),
        ("next month", &["2024-07-01..2024-07-31"]),
        ("last year", &["2023-01-01..2023-12-31"]),
        ("next year", &["2025-01-01..2025-12-31"]),
        ("two days ago", &["2024-06-10"]),
        ("10 days ago", &["2024-06-02"]),
        ("a week ago", &["2024-06-02..2024-06-08"]),
        ("a couple of weeks ago", &["2024-05-26..2024-06-01"]),
        ("a few days ago", &["2024-06-06..2024-06-10"]),
        ("three months ago", &["2024-03-01..2024-03-31"]),
        ("a year ago", &["2023-04-12..2023-08-12"]),
        ("a year ago today", &["2023-06-12"]),
        ("three years ago", &["2020-12-12..2021-12-12"]),
        ("in two days", &["2024-06-14"]),
        ("three weeks from now", &["2024-06-30..2024-07-06"]),
        ("last Wednesday", &["2024-06-05"]),
        ("last Tuesday", &["2024-06-11"]),
        ("next Friday", &["2024-06-14"]),
        ("this Friday", &["2024-06-14"]),
        ("on Friday", &["2024-06-07"]),
        ("last June", &["2023-06-01..2023-06-30"]),
        ("in June", &["2024-06-01..2024-06-30"]),
        ("next June", &["2025-06-01..2025-06-30"]),
        ("last summer", &["2023-06-01..2023-08-31"]),
        ("last winter", &["2023-12-01..2024-02-29"]),
        ("last Christmas", &["2023-12-25"]),
        ("on 3 June, 2023, or 2023-06-04", &["2023-06-03", "2023-06-04"]),
        ("in June 2022 and in 2021", &["2021-01-01..2021-12-31", "2022-06-01..2022-06-30"]),
        ("on June 13th", &["2023-06-13"]),
        ("the 3rd of June 2023", &["2023-06-03"]),
        ("what happened in June last year?", &["2023-06-01..2023-06-30"]),
        ("August of last year", &["2023-08-01..2023-08-31"]),
        ("last year in August we met", &["2023-08-01..2023-08-31"]),
        ("in March this year", &["2024-03-01..2024-03-31"]),
        ("in the summer of next year", &["2025-06-01..2025-08-31"]),
        ("last year in Ulm", &["2023-01-01..2023-12-31"]),
        ("Prices will fall next year", &["2025-01-01..2025-12-31"]),
        ("in the fall of last year", &["2023-09-01..2023-11-30"]),
        ("fall of last year", &["2023-09-01..2023-11-30"]),
        ("in fall next year", &["2025-09-01..2025-11-30"]),
    ];
    for (text, expected) in cases {
        assert_eq!(spans(text), expected, "{text}");
    }
    for nothing in [
        "I may march today",
        "they may this year",
        "31 February, or 40 June",
        "this may help",
        "this year",
        "tonight",
        "",
    ] {
        assert!(spans(nothing).is_empty(), "{nothing}");
    }
}

#[test]
fn chinese_times() {
    let cases: [(&str, &[&str]); 44] = [
        ("我昨天做了什么", &["2024-06-11"]),
        ("昨天天气很好", &["2024-06-11"]),
        ("前天晚上", &["2024-06-10"]),
        ("大前天", &["2024-06-09"]),
        ("明天下午五点", &["2024-06-13"]),
        ("后天", &["2024-06-14"]),
        ("大后天", &["2024-06-15"]),
        ("上周", &["2024-06-03..2024-06-09"]),
        ("上周三我们见面", &["2024-06-05"]),
        ("上个星期天", &["2024-06-09"]),
        ("从上周三开始", &["2024-06-05"]),
        ("下周五", &["2024-06-21"]),
        ("下下周一", &["2024-06-24"]),
        ("这周五", &["2024-06-14"]),
        ("周五那次", &["2024-06-07"]),
        ("上上周", &["2024-05-27..2024-06-02"]),
        ("上周末", &["2024-06-08..2024-06-09"]),
        ("周末", &["2024-06-15..2024-06-16"]),
        ("上个月", &["2024-05-01..2024-05-31"]),
        ("上月底", &["2024-05-21..2024-05-31"]),
        ("上个月3号", &["2024-05-03"]),
        ("下个月初", &["2024-07-01..2024-07-10"]),
        ("这个月", &["2024-06-01..2024-06-30"]),
        ("去年", &["2023-01-01..2023-12-31"]),
        ("前年", &["2022-01-01..2022-12-31"]),
        ("去年十二月", &["2023-12-01..2023-12-31"]),
        ("去年六月三号", &["2023-06-03"]),
        ("去年夏天", &["2023-06-01..2023-08-31"]),
        ("去年今天", &["2023-06-12"]),
        ("去年年底", &["2023-11-01..2023-12-31"]),
        ("今年三月", &["2024-03-01..2024-03-31"]),
        ("明年", &["2025-01-01..2025-12-31"]),
        ("三天前", &["2024-06-09"]),
        ("十二天以前", &["2024-05-31"]),
        ("两三天前", &["2024-06-09..2024-06-10"]),
        ("几天前", &["2024-06-06..2024-06-10"]),
        ("前几天", &["2024-06-02..2024-06-10"]),
        ("两周前", &["2024-05-26..2024-06-01"]),
        ("三天前还是两个月前", &["2024-04-01..2024-04-30", "2024-06-09"]),
        ("三年前", &["2020-12-12..2021-12-12"]),
        ("2023年6月和2021年", &["2021-01-01..2021-12-31", "2023-06-01..2023-06-30"]),
        ("二〇二三年六月三日", &["2023-06-03"]),
        ("6月12号,六月", &["2024-06-01..2024-06-30", "2024-06-12"]),
        ("半年前", &["2023-10-31..2024-01-29"]),
    ];
    for (text, expected) in cases {
        assert_eq!(spans(text), expected, "{text}");
    }
    for nothing in [
        "今天好累,今年也是",
        "以前天天跑步,以后天天睡觉",
        "晚上月亮很圆",
        "晚上周围很静",
        "每周三我都上课",
        "以前年轻",
        "马上下班",
        "过去年年如此",
        "一点也不累",
    ] {
        assert!(spans(nothing).is_empty(), "{nothing}: {:?}", spans(nothing));
    }
}

#[test]
fn an_english_week_begins_where_people_say_and_a_chinese_one_on_monday() {
    // Sunday, 16 June 2024.
    let now: Timestamp = "2024-06-16T12:00:00Z".parse().unwrap();
    let week = |text, start| spans_at(text, now, &TimeZone::UTC, start);
    assert_eq!(week("last week", Weekday::Monday), ["2024-06-03..2024-06-09"]);
    assert_eq!(week("last week", Weekday::Sunday), ["2024-06-09..2024-06-15"]);
    assert_eq!(week("上周", Weekday::Sunday), ["2024-06-03..2024-06-09"]);
    assert_eq!(week("last weekend", Weekday::Sunday), ["2024-06-08..2024-06-09"]);
}

#[test]
fn leap_days_and_ends_of_months_are_kept() {
    assert_eq!(times_asked_on("2024-02-29", "a year ago today"), ["2023-02-28"]);
    assert_eq!(times_asked_on("2024-02-29", "a year ago"), ["2022-12-28..2023-04-28"]);
    assert_eq!(times_asked_on("2024-02-29", "去年今天"), ["2023-02-28"]);
    assert_eq!(times_asked_on("2025-03-01", "29 February"), ["2024-02-29"]);
    assert_eq!(times_asked_on("2025-03-01", "2月29日"), ["2024-02-29"]);
    assert_eq!(times_asked_on("2024-03-31", "a month ago"), ["2024-02-01..2024-02-29"]);
    assert_eq!(times_asked_on("2024-01-31", "下个月底"), ["2024-02-21..2024-02-29"]);
    assert_eq!(times_asked_on("2024-01-01", "yesterday"), ["2023-12-31"]);
    assert_eq!(times_asked_on("2024-01-01", "last month"), ["2023-12-01..2023-12-31"]);
}

#[test]
fn days_are_as_long_as_the_zone_makes_them() {
    let hours = |now: &str, name: &str| {
        let (start, end) = named_times("yesterday", now.parse().unwrap(), &zone(name), Weekday::Monday)[0];
        (end.duration_since(start).as_secs() + 1) / 3_600
    };
    assert_eq!(hours("2026-03-30T12:00:00Z", "Europe/Berlin"), 23, "the clock went forward");
    assert_eq!(hours("2026-10-26T12:00:00Z", "Europe/Berlin"), 25, "the clock went back");
    assert_eq!(hours("2026-03-09T12:00:00Z", "America/New_York"), 23);
    // In Cairo the clock goes from midnight to one: the day has no midnight.
    let (start, _) = named_times(
        "yesterday",
        "2024-04-27T12:00:00Z".parse().unwrap(),
        &zone("Africa/Cairo"),
        Weekday::Monday,
    )[0];
    assert_eq!(start.to_zoned(zone("Africa/Cairo")).to_string(), "2024-04-26T01:00:00+03:00[Africa/Cairo]");
}

#[test]
fn the_zone_decides_which_day_yesterday_is() {
    let spans = named_times("yesterday", now(), &zone("Europe/London"), Weekday::Monday);
    assert_eq!(spans[0].0, "2024-06-10T00:00:00+01:00".parse().unwrap());
}

#[test]
fn a_clock_time_belongs_to_the_day_that_is_named() {
    let cases = [
        ("tomorrow at 5", "2024-06-13T17:00:00"),
        ("tomorrow at 5pm", "2024-06-13T17:00:00"),
        ("tomorrow at 5:30 p.m.", "2024-06-13T17:30:00"),
        ("at 9 am the day after tomorrow", "2024-06-14T09:00:00"),
        ("yesterday at noon", "2024-06-11T12:00:00"),
        ("tonight at 20:15", "2024-06-12T20:15:00"),
        ("明天下午五点", "2024-06-13T17:00:00"),
        ("明早八点半", "2024-06-13T08:30:00"),
        ("昨晚十点", "2024-06-11T22:00:00"),
        ("后天上午10点15分", "2024-06-14T10:15:00"),
        ("明天中午十二点", "2024-06-13T12:00:00"),
    ];
    for (text, expected) in cases {
        let phrases = time_phrases(text, now(), &zone("Asia/Shanghai"), Weekday::Monday);
        let moment = phrases[0].moment.map(|at| at.to_zoned(zone("Asia/Shanghai")).datetime().to_string());
        assert_eq!(moment.as_deref(), Some(expected), "{text}");
    }
    for text in
        ["tomorrow", "last week at 5", "明天", "明天早一点", "yesterday and tomorrow at 5", "昨晚十二点"]
    {
        let phrases = time_phrases(text, now(), &zone("Asia/Shanghai"), Weekday::Monday);
        assert!(phrases.iter().all(|phrase| phrase.moment.is_none()), "{text}");
    }
    // A time of day that the zone skips becomes the next valid one; of two, the first.
    let berlin = |now: &str, text: &str| {
        let phrases = time_phrases(text, now.parse().unwrap(), &zone("Europe/Berlin"), Weekday::Monday);
        phrases[0].moment.unwrap().to_string()
    };
    assert_eq!(berlin("2026-03-28T12:00:00Z", "tomorrow at 2:30 am"), "2026-03-29T01:30:00Z");
    assert_eq!(berlin("2026-10-24T12:00:00Z", "tomorrow at 2:30 am"), "2026-10-25T00:30:00Z");
}

#[test]
fn some_phrases_are_sure_and_some_are_not() {
    let sure = |text| {
        let phrases = time_phrases(text, now(), &zone("Asia/Shanghai"), Weekday::Monday);
        phrases.iter().map(|phrase| phrase.sure).collect::<Vec<_>>()
    };
    for text in ["yesterday", "two days ago", "today", "昨天", "上周三", "三天前", "今天"] {
        assert_eq!(sure(text), [true], "{text}");
    }
    for text in ["on Friday", "in two days", "June 3rd", "last summer", "周五", "三天后", "6月3日"] {
        assert_eq!(sure(text), [false], "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_accepted_and_windows_are_ordered(
        text in "(昨天|上周|前|后|下下|周末|两|点|半|[0-9一二十]{0,3}|年|月|天|个|底| |at |pm|ago|last|next|in|june|days|may|\\PC){0,12}",
        seconds in -2_000_000_000_i64..6_000_000_000,
        zone in prop::sample::select(vec!["UTC", "Asia/Shanghai", "America/New_York", "Pacific/Apia", "Africa/Cairo"]),
        sunday in any::<bool>(),
    ) {
        let zone = self::zone(zone);
        let now = Timestamp::from_second(seconds).unwrap();
        let week_start = if sunday { Weekday::Sunday } else { Weekday::Monday };
        for phrase in time_phrases(&text, now, &zone, week_start) {
            prop_assert!(phrase.start <= phrase.end, "{:?}", phrase);
            prop_assert!(phrase.slack_days >= 0);
            let first = phrase.start.to_zoned(zone.clone());
            prop_assert_eq!(&first, &first.start_of_day().unwrap(), "it begins with a day of the zone");
            if let Some(moment) = phrase.moment {
                prop_assert!(phrase.start <= moment && moment <= phrase.end);
            }
        }
    }
}

#[test]
fn dates_in_numbers_are_read_in_every_usual_order() {
    for text in ["on 19.01.2024", "2024.1.19", "19/01/2024", "2024/1/19", "01/19/2024", "2024年1月19日"] {
        let days = days_of(text);
        assert_eq!(days, [("2024-01-19".to_owned(), "2024-01-19".to_owned())], "{text}");
    }
    for text in ["version 1.2.3", "40.01.2024", "1/2/3"] {
        assert!(days_of(text).is_empty(), "{text}");
    }
}

#[test]
fn parts_of_months_feasts_and_ranges_are_read() {
    let day = |from: &str, to: &str| vec![(from.to_owned(), to.to_owned())];
    assert_eq!(days_of("1月中旬去了哪里"), day("2024-01-11", "2024-01-20"));
    assert_eq!(days_of("2024年2月下旬"), day("2024-02-21", "2024-02-29"));
    assert_eq!(days_of("1月中国队赢了"), day("2024-01-01", "2024-01-31"));
    assert_eq!(days_of("今天到明天"), day("2024-02-10", "2024-02-11"));
    assert_eq!(days_of("国庆去了哪里"), day("2023-10-01", "2023-10-07"));
    assert_eq!(days_of("从5月12日到5月31日"), day("2023-05-12", "2023-05-31"));
    assert_eq!(days_of("from 3 January to 9 January"), day("2024-01-03", "2024-01-09"));
}

/// The days that a text names, asked on 10 February 2024.
fn days_of(text: &str) -> Vec<(String, String)> {
    let now: Timestamp = "2024-02-10T12:00:00Z".parse().unwrap();
    let named = named_times(text, now, &TimeZone::UTC, Weekday::Monday);
    let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date().to_string();
    named.into_iter().map(|(start, end)| (day(start), day(end))).collect()
}

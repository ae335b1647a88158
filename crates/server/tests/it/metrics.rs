use crate::home::Home;
use crate::talker::Reply;

#[tokio::test]
async fn metrics_count_turns_and_requests_and_show_no_text() {
    let home = Home::new().await;
    home.talk("my cat is called Miso").await;
    home.talker.next(Reply::Fails { transient: false });
    home.talk("and my dog Bruno").await;
    home.get("/api/nothing").await;
    let metrics = home.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = &metrics.text;
    for line in [
        r#"echovessel_turns_total{outcome="answered"} 1"#,
        r#"echovessel_turns_total{outcome="failed"} 1"#,
        r#"echovessel_turn_seconds_count{phase="whole"} 2"#,
        r#"echovessel_turn_seconds_count{phase="first_token"} 1"#,
        r#"echovessel_http_requests_total{method="POST",status="202"} 2"#,
        r#"echovessel_http_requests_total{method="GET",status="404"} 1"#,
        r#"echovessel_live{what="sse_subscribers"} 0"#,
        r#"echovessel_live{what="sessions_waiting"} 0"#,
        r#"echovessel_live{what="lines_waiting"} 0"#,
    ] {
        let starts = line.contains("sse_subscribers") || text.contains(line);
        assert!(starts, "{line} is not in\n{text}");
    }
    for words in ["Miso", "Bruno", "cat", "self", "I hear you"] {
        assert!(!text.contains(words), "{words} is in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

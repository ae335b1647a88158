use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::home::{Answer, HOSTNAME, Home, TOKEN, until};

const AVATAR: &str = "/api/admin/persona/avatar";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest of a picture";

async fn upload(home: &Home, field: &str, name: &str, image: &[u8]) -> Answer {
    let mut body =
        format!("--border\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\r\n")
            .into_bytes();
    body.extend_from_slice(image);
    body.extend_from_slice(b"\r\n--border--\r\n");
    let request = Request::builder().method(Method::POST).uri(AVATAR).header(HOST, HOSTNAME);
    let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    let request = request.header(CONTENT_TYPE, "multipart/form-data; boundary=border");
    Answer::of(home.raw(request.body(Body::from(body)).unwrap()).await).await
}

#[tokio::test]
async fn a_picture_is_taken_shown_and_taken_away() {
    let home = Home::new().await;
    home.get(AVATAR).await.is_problem(404);
    home.ask(Method::DELETE, AVATAR, None).await.is_problem(404);
    let taken = upload(&home, "file", "face.PNG", PNG).await;
    assert_eq!(taken.json(), json!({"ok": true, "size_bytes": PNG.len(), "ext": "png"}));
    assert_eq!(home.get("/api/admin/persona").await.json()["has_avatar"], true);
    assert_eq!(home.get("/api/state").await.json()["persona"]["has_avatar"], true);
    let request = Request::builder().uri(format!("{AVATAR}?v=7")).header(HOST, HOSTNAME);
    let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}")).body(Body::empty()).unwrap();
    let shown = home.raw(request).await;
    assert_eq!(shown.headers()["content-type"], "image/png");
    assert!(shown.headers()["cache-control"].to_str().unwrap().contains("no-store"));
    assert_eq!(axum::body::to_bytes(shown.into_body(), 1_000).await.unwrap(), PNG);
    let jpeg = upload(&home, "file", "face.jpeg", b"\xff\xd8\xff\xe0rest").await;
    assert_eq!(jpeg.json()["ext"], "jpg");
    assert_eq!(home.ask(Method::DELETE, AVATAR, None).await.json(), json!({"deleted": true}));
    assert_eq!(home.get("/api/state").await.json()["persona"]["has_avatar"], false);
}

#[tokio::test]
async fn files_that_are_no_pictures_are_refused() {
    let home = Home::new().await;
    upload(&home, "file", "face.png", b"").await.is_problem(400);
    upload(&home, "file", "face.svg", b"<svg/>").await.is_problem(400);
    upload(&home, "file", "face.png", b"<script>alert(1)</script>").await.is_problem(400);
    upload(&home, "picture", "face.png", PNG).await.is_problem(422);
    home.post(AVATAR, json!({})).await.is_problem(422);
    let mut large = PNG.to_vec();
    large.resize(4_194_304, 0);
    assert_eq!(upload(&home, "file", "large.png", &large).await.status, 200, "4 MiB fit");
    large.push(0);
    upload(&home, "file", "larger.png", &large).await.is_problem(413);
    large.resize(5 * 1024 * 1024, 0);
    upload(&home, "file", "largest.png", &large).await.is_problem(413);
    assert_eq!(home.get("/api/admin/persona").await.json()["has_avatar"], true, "the one that fits stays");
}

#[tokio::test]
async fn facts_are_written_one_by_one_and_reach_the_reply() {
    let home = Home::new().await;
    let path = "/api/admin/persona/facts";
    let patch = async |body: Value| home.ask(Method::PATCH, path, Some(body)).await;
    let written = patch(json!({"facts": {"full_name": " 林小满 ", "gender": "FEMALE", "shoe_size": "38",
        "timezone": "asia/shanghai", "life_stage": "dragon", "birth_date": "1994-03-05"}}))
    .await
    .json();
    assert_eq!(written["ok"], true);
    let facts = &written["facts"];
    assert_eq!(facts.as_object().unwrap().len(), 15);
    assert_eq!((&facts["full_name"], &facts["gender"]), (&json!("林小满"), &json!("female")));
    assert_eq!((&facts["timezone"], &facts["life_stage"]), (&json!("Asia/Shanghai"), &Value::Null));
    patch(json!({"facts": {"gender": null}})).await;
    let now = home.get("/api/admin/persona").await.json()["facts"].clone();
    assert_eq!((&now["gender"], &now["full_name"]), (&Value::Null, &json!("林小满")));
    for (body, status) in [
        (json!({}), 400),
        (json!({"facts": null}), 400),
        (json!({"facts": []}), 400),
        (json!({"facts": {"birth_date": "spring"}}), 422),
        (json!({"facts": {"timezone": "../../etc/passwd"}}), 422),
        (json!({"facts": {"full_name": 7}}), 422),
        (json!({"facts": {"full_name": "字".repeat(257), "gender": "male"}}), 422),
    ] {
        patch(body).await.is_problem(status);
    }
    assert_eq!(home.get("/api/admin/persona").await.json()["facts"], now, "nothing was half-written");
}

#[tokio::test]
async fn onboarding_with_facts_writes_all_fifteen() {
    let home = Home::new().await;
    home.ask(Method::PATCH, "/api/admin/persona/facts", Some(json!({"facts": {"occupation": "florist"}})))
        .await;
    let first = json!({"display_name": "Mira", "persona_block": "You are Mira.", "user_block": "",
        "facts": {"gender": "female"}});
    assert_eq!(home.post("/api/admin/persona/onboarding", first).await.status, 200);
    let facts = home.get("/api/admin/persona").await.json()["facts"].clone();
    assert_eq!((&facts["gender"], &facts["occupation"]), (&json!("female"), &Value::Null));
}

#[tokio::test]
async fn the_wish_to_hear_the_persona_is_stored_and_returned() {
    let home = Home::new().await;
    let path = "/api/admin/persona/voice-toggle";
    let mut watcher = home.runtime.broadcast().subscribe();
    assert_eq!(
        home.post(path, json!({"enabled": true})).await.json(),
        json!({"ok": true, "voice_enabled": true})
    );
    let told = until(&mut watcher, &["chat.settings.updated"]).await;
    assert_eq!(told.data["voice_enabled"], true);
    assert_eq!(home.get("/api/state").await.json()["persona"]["voice_enabled"], true);
    home.post(path, json!({"enabled": "loud"})).await.is_problem(422);
    home.post(path, json!({})).await.is_problem(422);
}

#[tokio::test]
async fn several_personas_live_in_one_home() {
    let home = Home::new().await;
    let path = "/api/admin/personas";
    home.get("/api/state").await;
    let new = json!({"id": "mira", "display_name": "Mira 小雨", "persona_block": "You are Mira.",
        "facts": {"occupation": "florist"}});
    let made = home.post(path, new.clone()).await;
    assert_eq!(
        (made.status.as_u16(), &made.json()["core_blocks"]["persona"]),
        (201, &json!("You are Mira."))
    );
    assert_eq!(made.json()["facts"]["occupation"], "florist");
    home.post(path, new).await.is_problem(409);
    let twin = home.post(path, json!({"id": "mira-2", "display_name": "mira 小雨"})).await;
    twin.is_problem(409);
    assert!(twin.text.contains("display_name"), "{}", twin.text);
    let listed = home.get(path).await.json();
    let ids: Vec<&str> =
        listed["personas"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["default", "mira"]);
    assert_eq!(listed["personas"][0]["is_default"], true);
    assert_eq!(listed["personas"][1]["onboarding_required"], false);
    let page = home.get(&format!("{path}?limit=1")).await.json();
    assert_eq!(page["next_cursor"], "default");
    let rest = home.get(&format!("{path}?limit=1&cursor=default")).await.json();
    assert_eq!((&rest["personas"][0]["id"], &rest["next_cursor"]), (&json!("mira"), &Value::Null));
    let sent = home.post("/api/chat/send", json!({"content": "hello", "persona_id": "mira"})).await;
    assert_eq!(sent.status, 202);
    for body in
        [json!({"id": "a/b"}), json!({"id": ""}), json!({"display_name": "x"}), json!({"id": "x", "mood": 1})]
    {
        home.post(path, body).await.is_problem(422);
    }
}

#[tokio::test]
async fn users_and_who_they_are_elsewhere() {
    let home = Home::new().await;
    let ann = home
        .post("/api/admin/users", json!({"id": "ann", "display_name": "Ann", "timezone": "europe/lisbon"}))
        .await;
    assert_eq!((ann.status.as_u16(), &ann.json()["timezone"]), (201, &json!("Europe/Lisbon")));
    home.post("/api/admin/users", json!({"id": "ann"})).await.is_problem(409);
    home.post("/api/admin/users", json!({"id": "bob", "timezone": "Mars"})).await.is_problem(422);
    home.post("/api/admin/users", json!({"id": "bob"})).await;
    let identities = "/api/admin/users/ann/identities";
    let discord = json!({"channel_id": "discord", "external_id": "18446744073709551615"});
    let bound = home.post(identities, discord.clone()).await.json();
    assert_eq!((&bound["written"], &bound["external_id"]), (&json!(true), &json!("18446744073709551615")));
    assert_eq!(home.post(identities, discord.clone()).await.json()["written"], false);
    home.post("/api/admin/users/bob/identities", discord.clone()).await.is_problem(409);
    home.post("/api/admin/users/nobody/identities", discord).await.is_problem(404);
    let renamed =
        home.ask(Method::PATCH, "/api/admin/users/ann", Some(json!({"display_name": "安"}))).await.json();
    assert_eq!(renamed["display_name"], "安");
    assert_eq!(renamed["identities"][0]["external_id"], "18446744073709551615");
    let patch = async |body: Value| home.ask(Method::PATCH, "/api/admin/users/ann", Some(body)).await;
    assert_eq!(patch(json!({"timezone": "asia/tokyo"})).await.json()["timezone"], "Asia/Tokyo");
    patch(json!({"timezone": "Mars"})).await.is_problem(422);
    for none in [Value::Null, json!(" ")] {
        patch(json!({"timezone": "Asia/Tokyo"})).await;
        let emptied = patch(json!({"timezone": none})).await.json();
        assert_eq!((&emptied["timezone"], &emptied["display_name"]), (&Value::Null, &json!("安")));
    }
    let listed = home.get("/api/admin/users?limit=1").await.json();
    assert_eq!((&listed["users"][0]["id"], &listed["next_cursor"]), (&json!("ann"), &json!("ann")));
    let gone = format!("{identities}?channel_id=discord&external_id=18446744073709551615");
    assert_eq!(home.ask(Method::DELETE, &gone, None).await.json(), json!({"deleted": true}));
    home.ask(Method::DELETE, &gone, None).await.is_problem(404);
}

#[tokio::test]
async fn defect_19_an_id_of_another_channel_is_text_and_never_a_number() {
    let home = Home::new().await;
    home.post("/api/admin/users", json!({"id": "ann"})).await;
    let path = "/api/admin/users/ann/identities";
    let number = json!({"channel_id": "discord", "external_id": 9_007_199_254_740_993_u64});
    home.post(path, number).await.is_problem(422);
    let text = json!({"channel_id": "discord", "external_id": "9007199254740993"});
    home.post(path, text).await;
    let body = home.get(path).await.text;
    assert!(body.contains("\"9007199254740993\""), "{body}");
}

//! A client of the API with the owner's token.

use outgoing::client_builder;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::daemon::PATIENCE;

/// Largest number of rows in one page of a list.
const PAGE_MAX: usize = 200;

/// The address of a daemon and the token for it.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) url: String,
    pub(crate) token: String,
    http: Client,
    /// Part of a query that names the persona; empty for the default one.
    persona: String,
}

/// The response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The body; `Null` if it is not JSON.
    pub(crate) body: Value,
}

/// Ids of an accepted message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) message_id: String,
    pub(crate) turn_id: String,
}

impl Door {
    pub(crate) fn new(url: String, token: String) -> Self {
        let http = client_builder()
            .no_proxy()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { url, token, http, persona: String::new() }
    }

    /// The same client for the memory of another persona.
    pub(crate) fn of_persona(&self, persona: &str) -> Self {
        Self { persona: format!("&persona_id={persona}"), ..self.clone() }
    }

    /// A request without a token.
    pub(crate) fn knock(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// A request with the token.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.knock(method, path).bearer_auth(&self.token)
    }

    /// Sends a GET request and returns the response, whatever its status.
    pub(crate) async fn try_get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await.unwrap()
    }

    /// Sends a POST request and returns the response, whatever its status.
    pub(crate) async fn try_post(&self, path: &str, body: &Value) -> Answer {
        answer(self.request(Method::POST, path).json(body)).await.unwrap()
    }

    /// Sends a GET request, which must succeed.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self.try_get(path).await;
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.body);
        answer.body
    }

    /// Sends a POST request, which must succeed.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.try_post(path, body).await;
        assert!((200..300).contains(&answer.status), "POST {path}: {} {}", answer.status, answer.body);
        answer.body
    }

    /// Sends a DELETE request and returns the response, whatever its status.
    pub(crate) async fn try_delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path)).await.unwrap()
    }

    /// Sends a message on the page's channel; returns after the 202.
    pub(crate) async fn say(&self, user: &str, text: &str) -> Said {
        let body = json!({"content": text, "user_id": user});
        let answer = self.try_post("/api/chat/send", &body).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        said(&answer.body)
    }

    /// Sends a message like an OpenAI client and returns the reply.
    pub(crate) async fn complete(&self, user: &str, text: &str) -> String {
        let answer = self.try_post("/v1/chat/completions", &completion(user, text)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    }

    /// All messages with this user, oldest first.
    pub(crate) async fn history(&self, user: &str) -> Vec<Value> {
        let mut messages = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self
                .get(&format!("/api/chat/history?user_id={user}{}&limit={PAGE_MAX}{cursor}", self.persona))
                .await;
            messages.extend(rows(&page, "messages"));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        messages.reverse();
        messages
    }

    /// The texts of one side's messages, oldest first.
    pub(crate) async fn said_by(&self, user: &str, role: &str) -> Vec<String> {
        let messages = self.history(user).await;
        let of_role = messages.iter().filter(|message| message["role"] == role);
        of_role.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }

    /// The newest sessions of this user with this status.
    pub(crate) async fn sessions(&self, user: &str, status: &str) -> Vec<Value> {
        let path =
            format!("/api/admin/sessions?user_id={user}{}&status={status}&limit={PAGE_MAX}", self.persona);
        rows(&self.get(&path).await, "sessions")
    }

    /// Ends the user's only open session and returns its id.
    pub(crate) async fn end_session(&self, user: &str) -> String {
        let open = self.sessions(user, "open").await;
        assert_eq!(open.len(), 1, "{open:?}");
        let id = open[0]["id"].as_str().unwrap().to_owned();
        let ended = self.try_post(&format!("/api/admin/sessions/{id}/close"), &json!({})).await;
        assert_eq!(ended.status, 202, "{}", ended.body);
        id
    }

    /// The events of this user, newest first.
    pub(crate) async fn events(&self, user: &str) -> Vec<Value> {
        self.nodes("events", user).await
    }

    /// The thoughts about this user, newest first.
    pub(crate) async fn thoughts(&self, user: &str) -> Vec<Value> {
        self.nodes("thoughts", user).await
    }

    async fn nodes(&self, kind: &str, user: &str) -> Vec<Value> {
        let (mut nodes, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/admin/memory/{kind}?user_id={user}{}&limit=100{cursor}", self.persona);
            let page = self.get(&path).await;
            nodes.extend(rows(&page, "items"));
            let Some(next) = page["next_cursor"].as_str() else { return nodes };
            cursor = format!("&cursor={next}");
        }
    }

    /// The unproven claims, newest first.
    pub(crate) async fn rejected(&self, user: &str) -> Vec<Value> {
        rows(&self.get(&format!("/api/admin/memory/rejected?user_id={user}")).await, "rejected")
    }

    /// The memories that recall returns for a text.
    pub(crate) async fn recall(&self, user: &str, text: &str) -> Vec<Value> {
        let body = json!({"text": text, "user_id": user});
        rows(&self.post("/api/admin/memory/recall", &body).await, "candidates")
    }

    /// The receipt of a reply.
    pub(crate) async fn receipt(&self, turn_id: &str) -> Answer {
        self.try_get(&format!("/api/chat/turns/{turn_id}/receipt")).await
    }
}

/// Sends the request. An error is one of the connection.
pub(crate) async fn answer(request: RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = serde_json::from_slice(&response.bytes().await?).unwrap_or(Value::Null);
    Ok(Answer { status, headers, body })
}

/// The ids in a 202 response.
pub(crate) fn said(body: &Value) -> Said {
    let accepted = body["accepted"].as_array().unwrap();
    assert_eq!((accepted.len(), &body["ok"]), (1, &json!(true)), "{body}");
    Said {
        message_id: accepted[0].as_str().unwrap().to_owned(),
        turn_id: body["turn_id"].as_str().unwrap().to_owned(),
    }
}

/// A request like that of an OpenAI client.
pub(crate) fn completion(user: &str, text: &str) -> Value {
    json!({"model": "default", "user": user, "messages": [{"role": "user", "content": text}]})
}

/// The list with this name.
pub(crate) fn rows(body: &Value, name: &str) -> Vec<Value> {
    body[name].as_array().unwrap_or_else(|| panic!("{name} is no list in {body}")).clone()
}

//! The caller of a connection, and the scope of its calls.

use hub::{Caller, InstanceId};
use memory::{PersonaId, UserId};
use serde_json::{Map, Value};

use super::context::ToolContext;
use super::tool::{InstanceField, ToolError};

/// The caller on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The instance of calls that name none.
    pub instance: InstanceId,
    /// True to refuse calls that name another instance.
    pub bound: bool,
    /// The only user that it may act for; `None` for all.
    pub user: Option<UserId>,
    /// The caller's name in the audit log.
    pub name: String,
}

impl Speaker {
    /// A caller that may only act as this instance.
    pub fn for_instance(instance: InstanceId) -> Self {
        let name = format!("mcp:{instance}");
        Self { instance, bound: true, user: None, name }
    }

    /// The owner, who acts as the hub's own instance and may name another.
    pub fn owner(instance: InstanceId) -> Self {
        Self { instance, bound: false, user: None, name: "owner".to_owned() }
    }

    /// Determines the caller of a call. Removes `persona_id` and `user_id` from the arguments, and adds the caller's
    /// `instanceId` if the call has none.
    pub(super) async fn identify_caller(
        &self,
        context: &ToolContext,
        arguments: &mut Map<String, Value>,
        field: InstanceField,
    ) -> Result<Caller, ToolError> {
        let persona = take_text(arguments, "persona_id")?;
        let user = take_text(arguments, "user_id")?;
        let named = match arguments.get("instanceId") {
            Some(_) if field == InstanceField::Reference => None,
            Some(Value::String(named)) => Some(named.clone()),
            _ => pushing_instance(arguments),
        };
        let instance = match named {
            None => self.instance.clone(),
            Some(named) if named == self.instance.as_str() => self.instance.clone(),
            Some(named) if self.bound => {
                return Err(ToolError::Refused(format!(
                    "instanceId: this connection is bound to the instance {} and can't act as {named}; \
                        nothing was changed. Leave instanceId out, or use a token for hub:{named}",
                    self.instance
                )));
            }
            Some(named) => {
                named.parse().map_err(|error| ToolError::Invalid(format!("instanceId: {error}")))?
            }
        };
        let is_daily = arguments.get("granularity").is_some_and(|granularity| granularity == "daily");
        let means_own = match field {
            InstanceField::Speaker => true,
            // A bound caller can't refer to another instance's daily by leaving the instance out.
            InstanceField::Owner => self.bound && is_daily,
            InstanceField::Absent | InstanceField::Reference => false,
        };
        if means_own && !arguments.contains_key("instanceId") {
            arguments.insert("instanceId".to_owned(), Value::String(instance.to_string()));
        }
        let persona = self.persona(context, persona).await?;
        let scope = memory::Scope::new(persona, self.user_of(user)?);
        context.runtime.ensure_scope_exists(&scope).await?;
        Ok(Caller {
            scope,
            instance,
            is_person: false,
            is_bound: self.bound,
            is_of_one_user: self.user.is_some(),
        })
    }

    fn user_of(&self, asked: Option<String>) -> Result<UserId, ToolError> {
        match (&self.user, asked) {
            (Some(own), None) => Ok(own.clone()),
            (Some(own), Some(asked)) if own.as_str() == asked => Ok(own.clone()),
            (Some(_), Some(_)) => {
                Err(ToolError::Refused("user_id: this token is bound to another user".to_owned()))
            }
            (None, None) => Ok(UserId::owner()),
            (None, Some(asked)) => {
                UserId::new(asked).map_err(|error| ToolError::Invalid(format!("user_id: {error}")))
            }
        }
    }

    /// An existing persona: a misspelt id must not create one.
    async fn persona(&self, context: &ToolContext, asked: Option<String>) -> Result<PersonaId, ToolError> {
        let configured = context.runtime.settings().persona.clone();
        let Some(asked) = asked.filter(|asked| asked != configured.as_str()) else {
            return Ok(configured.clone());
        };
        let persona =
            PersonaId::new(asked).map_err(|error| ToolError::Invalid(format!("persona_id: {error}")))?;
        match context.runtime.store().persona(&persona).await? {
            Some(record) => Ok(record.id),
            None => Err(ToolError::Invalid("persona_id not found".to_owned())),
        }
    }
}

/// Removes a text argument and returns it.
fn take_text(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<String>, ToolError> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolError::Invalid(format!("{name}: must be a string"))),
    }
}

/// The instance that a push names.
fn pushing_instance(arguments: &Map<String, Value>) -> Option<String> {
    arguments.get("instance")?.get("id")?.as_str().map(str::to_owned)
}

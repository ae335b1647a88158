//! First drafts of a persona, from a description or a text.

use memory::ports::MindError;
use mind::{PersonaDraft, PersonaDraftInput};

use crate::runtime::Runtime;

impl Runtime {
    /// A first draft of a persona. Nothing is stored.
    ///
    /// # Errors
    /// When the model fails or its answer can't be read.
    pub async fn draft_persona(&self, input: &PersonaDraftInput) -> Result<PersonaDraft, MindError> {
        self.mind().draft_persona(input).await
    }
}

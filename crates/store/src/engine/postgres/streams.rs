//! Many rows at once, in either direction.

use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::Type;

use super::values::Owned;
use super::{Server, ServerRow, borrowed, dialect, owned};
use crate::engine::sql::{Error, Parameters, Result, ValueRef};

impl Server {
    /// Calls `each` for the rows of a query, some hundreds of which are in memory at a time.
    pub(crate) fn each_row<E: From<Error>>(
        &self,
        query: &str,
        parameters: impl Parameters,
        mut each: impl FnMut(&ServerRow) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let declare = format!("DECLARE each_row NO SCROLL CURSOR FOR {}", dialect::translate(query));
        let values = owned(parameters)?;
        self.client.borrow_mut().execute(&declare, &borrowed(&values)).map_err(Error::from)?;
        loop {
            let fetched = self.client.borrow_mut().query("FETCH 500 FROM each_row", &[]);
            let rows = fetched.map_err(Error::from)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                each(&ServerRow::from(row))?;
            }
        }
        Ok(self.execute_script("CLOSE each_row")?)
    }

    /// Inserts rows as they are produced.
    pub(crate) fn fill<E>(
        &self,
        table: &str,
        columns: &[String],
        failed: fn(Error) -> E,
        produce: impl FnOnce(&mut dyn FnMut(&[ValueRef<'_>]) -> Result<()>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let failure = |error: postgres::Error| failed(error.into());
        let names: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let names = names.join(", ");
        let mut client = self.client.borrow_mut();
        let described = client.prepare(&format!("SELECT {names} FROM \"{table}\"")).map_err(failure)?;
        let types: Vec<Type> = described.columns().iter().map(|column| column.type_().clone()).collect();
        let copy = format!("COPY \"{table}\" ({names}) FROM STDIN BINARY");
        let mut writer = BinaryCopyInWriter::new(client.copy_in(&copy).map_err(failure)?, &types);
        produce(&mut |values| {
            let values: Vec<Owned> = values.iter().map(|value| Owned::from(*value)).collect();
            Ok(writer.write(&borrowed(&values))?)
        })?;
        writer.finish().map(|_| ()).map_err(failure)
    }
}

//! Streams of many rows, in either direction.

use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;

use super::values::SqlValue;
use super::{Server, ServerRow, as_parameters, dialect, to_sql_values};
use crate::engine::sql::{Error, Parameters, Result, ValueRef};

impl Server {
    /// Calls `each` for the rows of a query, with some hundreds in memory at a time.
    pub(crate) fn each_row<E: From<Error>>(
        &self,
        query: &str,
        parameters: impl Parameters,
        mut each: impl FnMut(&ServerRow) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let declare = format!("DECLARE each_row NO SCROLL CURSOR FOR {}", dialect::translate(query));
        let values = to_sql_values(parameters)?;
        self.receive(self.client.borrow().execute(&declare, &as_parameters(&values)))?;
        loop {
            let rows = self.receive(self.client.borrow().query("FETCH 500 FROM each_row", &[]))?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                each(&ServerRow::from(row))?;
            }
        }
        Ok(self.execute_script("CLOSE each_row")?)
    }

    /// Inserts rows while they are produced.
    pub(crate) fn copy_rows_in<E>(
        &self,
        table: &str,
        columns: &[String],
        failed: fn(Error) -> E,
        produce: impl FnOnce(&mut dyn FnMut(&[ValueRef<'_>]) -> Result<()>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let names: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let names = names.join(", ");
        let client = self.client.borrow();
        let select = format!("SELECT {names} FROM \"{table}\"");
        let described = self.receive(client.prepare(&select)).map_err(failed)?;
        let types: Vec<Type> = described.columns().iter().map(|column| column.type_().clone()).collect();
        let copy = format!("COPY \"{table}\" ({names}) FROM STDIN BINARY");
        let sink = self.receive(client.copy_in(&copy)).map_err(failed)?;
        let mut writer = Box::pin(BinaryCopyInWriter::new(sink, &types));
        produce(&mut |values| {
            let values: Vec<SqlValue> = values.iter().map(|value| SqlValue::from(*value)).collect();
            self.receive(writer.as_mut().write(&as_parameters(&values)))
        })?;
        self.receive(writer.as_mut().finish()).map(|_| ()).map_err(failed)
    }
}

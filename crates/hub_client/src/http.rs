//! MCP over streamable HTTP.

use hub::ports::RemoteError;
use rmcp::ServiceExt as _;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use secrecy::ExposeSecret as _;

use crate::address::{client, endpoint, token};
use crate::{Connection, HttpAddress, diagnosis};

pub(crate) async fn connect(address: &HttpAddress) -> Result<Connection, RemoteError> {
    let endpoint = endpoint(&address.url)?;
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint.as_str())
        .auth_header(token(address)?.expose_secret());
    let transport = StreamableHttpClientTransport::with_client(client(address)?, config);
    match ().serve(transport).await {
        Ok(connection) => Ok(connection),
        Err(error) => Err(diagnosis::explain(address, &error.to_string()).await),
    }
}

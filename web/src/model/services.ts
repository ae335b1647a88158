// Services for which people have keys, each with its documented address.

export interface Service {
  id: string;
  name: string;
  provider: "openai" | "anthropic";
  /** Empty for the provider's own address, which the server knows. */
  address: string;
  host: string;
  /** True if the model's name may be left empty. */
  hasDefault: boolean;
}

const compatibleService = (id: string, name: string, address: string): Service => ({
  id,
  name,
  provider: "openai",
  address,
  host: new URL(address).host,
  hasDefault: false,
});

export const SERVICES: Service[] = [
  { id: "openai", name: "OpenAI", provider: "openai", address: "", host: "api.openai.com", hasDefault: true },
  { id: "anthropic", name: "Anthropic", provider: "anthropic", address: "", host: "api.anthropic.com", hasDefault: true },
  compatibleService("openrouter", "OpenRouter", "https://openrouter.ai/api/v1"),
  compatibleService("gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
  compatibleService("deepseek", "DeepSeek", "https://api.deepseek.com/v1"),
  compatibleService("mistral", "Mistral", "https://api.mistral.ai/v1"),
  compatibleService("dashscope", "阿里云百炼 (Qwen)", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
  compatibleService("moonshot", "Moonshot (Kimi)", "https://api.moonshot.cn/v1"),
  compatibleService("zhipu", "智谱 (GLM)", "https://open.bigmodel.cn/api/paas/v4"),
];

/** The selection that matches the configuration: a server of this machine, a service, another address, or no model. */
export interface Place {
  kind: "local" | "service" | "address" | "rules";
  /** The address of a local server, or the id of a service. */
  id: string;
}

export const SERVICE_FIRST: Place = { kind: "service", id: "openai" };

export function placeOf(
  configured: { provider: string; base_url: string; answering: { offline: boolean } },
  local: { base_url: string; models: string[] }[],
): Place {
  const { provider, base_url: address } = configured;
  const localServer = local.find((server) => server.base_url === address) ?? (provider === "auto" || address === "" ? local.find((server) => server.models.length > 0) : undefined);
  const service = SERVICES.find((service) => service.provider === provider && service.address === address);
  if (service) return { kind: "service", id: service.id };
  if (localServer) return { kind: "local", id: localServer.base_url };
  if (address) return { kind: "address", id: "" };
  return SERVICE_FIRST;
}

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

const compatible = (id: string, name: string, address: string): Service => ({
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
  compatible("openrouter", "OpenRouter", "https://openrouter.ai/api/v1"),
  compatible("gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
  compatible("deepseek", "DeepSeek", "https://api.deepseek.com/v1"),
  compatible("mistral", "Mistral", "https://api.mistral.ai/v1"),
  compatible("dashscope", "阿里云百炼 (Qwen)", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
  compatible("moonshot", "Moonshot (Kimi)", "https://api.moonshot.cn/v1"),
  compatible("zhipu", "智谱 (GLM)", "https://open.bigmodel.cn/api/paas/v4"),
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
  const own = local.find((server) => server.base_url === address) ?? (provider === "auto" || address === "" ? local.find((server) => server.models.length > 0) : undefined);
  const service = SERVICES.find((service) => service.provider === provider && service.address === address);
  if (service) return { kind: "service", id: service.id };
  if (own) return { kind: "local", id: own.base_url };
  if (address) return { kind: "address", id: "" };
  return SERVICE_FIRST;
}

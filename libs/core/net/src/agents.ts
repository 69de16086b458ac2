import { type AgentOptions, globalAgent, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { TlsMaterial } from './tls/certificates.ts';
import { clientOptions } from './tls/client-options.ts';
import type { TlsSource } from './tls/renewed.ts';

/** The certificates of a client: `unverified` takes any of the other end, for the listeners of this machine. */
export type ClientTls = TlsSource | 'unverified' | undefined;

/** Idle connections are closed after this time, ms: a server of Node's defaults closes one after five seconds. */
const IDLE_MS = 4_000;
const MAX_IDLE_CONNECTIONS = 64;

/** Keeps connections for the next request. Nobody has to close them: idle ones end by themselves, and keep no process alive. */
export const KEPT: AgentOptions = {
  keepAlive: true,
  timeout: IDLE_MS,
  maxFreeSockets: MAX_IDLE_CONNECTIONS,
};

/**
 * Returns the agent for addresses of http or https. After a renewal of the certificates it is another one: connections of the earlier one
 * end with their requests. Uses a proxy where `fetch` does (Node.js documentation, "Built-in Proxy Support").
 */
export function agentsFor(tls: ClientTls, options: AgentOptions): (isTls: boolean) => HttpAgent {
  const all = { ...proxied(), ...options };
  const http = new HttpAgent(all);
  const https = httpsAgent(tls, all);
  return (isTls) => (isTls ? https() : http);
}

function httpsAgent(tls: ClientTls, options: AgentOptions): () => HttpAgent {
  if (tls === undefined || tls === 'unverified') {
    const agent = new HttpsAgent({ ...options, ...(tls && { rejectUnauthorized: false }) });
    return () => agent;
  }
  let made: { readonly of: TlsMaterial; readonly agent: HttpAgent } | undefined;
  return () => {
    const material = tls.current();
    if (made?.of !== material) {
      // One context for all connections: to read every issuer anew takes milliseconds.
      const secureContext = createSecureContext(clientOptions(material));
      made = { of: material, agent: new HttpsAgent({ ...options, secureContext }) };
    }
    return made.agent;
  };
}

/** Set where NODE_USE_ENV_PROXY or --use-env-proxy is; the types do not have it. */
function proxied(): AgentOptions {
  const { options } = globalAgent as HttpAgent & { readonly options?: AgentOptions };
  return options?.proxyEnv === undefined ? {} : { proxyEnv: options.proxyEnv };
}

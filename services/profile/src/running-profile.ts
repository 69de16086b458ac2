import { type FleetConfig, listenerUrl } from '@hermes-fleet/fleet-config';
import type { Finding } from '@hermes-fleet/gateway';
import { createClient } from '@hermes-fleet/net';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

const ANSWER_MS = 2000;
const MAX_ANSWER_BYTES = 1_048_576;

/** The answer of a running profile at `/ready`, parts of which only that process knows. */
export interface RunningProfile {
  readonly url: string;
  /** By name; empty when it is not running, or another service answers. */
  readonly dependencies: Readonly<Record<string, { readonly state: unknown; readonly detail: string }>>;
}

/** Asks the running gateway for at most 2 s. */
export async function askRunning(
  server: NonNullable<FleetConfig['fleet']['server']>,
): Promise<RunningProfile> {
  const host = ['0.0.0.0', '::'].includes(server.bind_host) ? '127.0.0.1' : server.bind_host;
  const url = new URL('/ready', listenerUrl(server, host)).href;
  const said = Object.entries(await dependenciesAt(url)).flatMap(([name, dependency]) =>
    isJsonObject(dependency) && typeof dependency.detail === 'string'
      ? [[name, { state: dependency.state, detail: dependency.detail }] as const]
      : [],
  );
  return { url, dependencies: Object.fromEntries(said) };
}

async function dependenciesAt(url: string): Promise<JsonObject> {
  let body: unknown;
  try {
    // The certificate of the profile's own listener may be for another name, and nothing secret is sent.
    const ask = createClient('configured', { tls: 'unverified', maxBytes: MAX_ANSWER_BYTES });
    const reply = await ask(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    body = await reply.json();
  } catch {
    return {};
  }
  const dependencies = isJsonObject(body) ? body.dependencies : undefined;
  return isJsonObject(dependencies) ? dependencies : {};
}

/** The tools of MCP servers that the running profile offers to no task (docs/agent.md#mcp-servers). */
export function examineMcpTools({ dependencies }: RunningProfile): Finding[] {
  return Object.entries(dependencies).flatMap(([name, { state, detail }]) =>
    name.startsWith(MCP) && state === 'ok'
      ? [
          {
            subject: `MCP server ${name.slice(MCP.length)}`,
            check: 'tools',
            state: 'warning',
            detail,
            fix: FIX,
          },
        ]
      : [],
  );
}

const MCP = 'mcp:';
const FIX =
  'make the schemas simpler at the server, or have its `tools` in config.yaml name at most 100 tools that it lists';

import { listenerUrl } from '@hermes-fleet/fleet-config';
import type { Finding } from '@hermes-fleet/gateway';
import type { DependencyState } from '@hermes-fleet/gateway/member';
import { createClient } from '@hermes-fleet/net';
import { isJsonObject } from '@hermes-fleet/protocol';
import type { Confinement } from '@hermes-fleet/workspace';
import type { Configuration } from './read-configuration.ts';

const ANSWER_MS = 2000;
const MAX_ANSWER_BYTES = 1_048_576;

const runsCommands = ({ agent, fleet }: Pick<Configuration, 'agent' | 'fleet'>): boolean =>
  agent.tools.shell.enabled && fleet.fleet.response_handler === 'agent';

/** How commands are confined, for `/ready`; undefined for a profile that is not to run any (docs/operations.md). */
export function commandsState(
  configuration: Pick<Configuration, 'agent' | 'fleet'>,
  { method, note }: Pick<Confinement, 'method' | 'note'>,
): DependencyState | undefined {
  if (!runsCommands(configuration)) return undefined;
  if (method !== 'none') return { state: 'ok', detail: note };
  return {
    state: 'degraded',
    detail: 'shell_exec is off: nothing confines commands here; the start log has the reasons',
  };
}

/**
 * Asks the running gateway how it confines commands: only that process has the rights to find out. Resolves with a
 * skipped check when it does not answer within 2 s.
 */
export async function examineCommands(
  configuration: Pick<Configuration, 'agent' | 'fleet'>,
): Promise<Finding[]> {
  const { server } = configuration.fleet.fleet;
  if (!server || !runsCommands(configuration)) return [];
  const host = ['0.0.0.0', '::'].includes(server.bind_host) ? '127.0.0.1' : server.bind_host;
  const url = new URL('/ready', listenerUrl(server, host)).href;
  const found = { subject: 'commands', check: 'confinement' } as const;
  const said = await commandsAt(url);
  if (!said) {
    const detail = `not tried: the profile does not say at ${url} how it confines commands; its start log does`;
    return [{ ...found, state: 'skipped', detail }];
  }
  if (said.state === 'ok') return [{ ...found, state: 'ok', detail: said.detail }];
  return [
    { ...found, state: 'warning', detail: said.detail, fix: 'install bubblewrap, or see the start log' },
  ];
}

/** What the gateway at this address says of its commands; undefined when it is not running, or another service. */
async function commandsAt(url: string): Promise<{ state: unknown; detail: string } | undefined> {
  let body: unknown;
  try {
    // The certificate of the profile's own listener may be for another name, and nothing secret is sent.
    const ask = createClient('configured', { tls: 'unverified', maxBytes: MAX_ANSWER_BYTES });
    const reply = await ask(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    body = await reply.json();
  } catch {
    return undefined;
  }
  const dependencies = isJsonObject(body) ? body.dependencies : undefined;
  const commands = isJsonObject(dependencies) ? dependencies.commands : undefined;
  if (!isJsonObject(commands) || typeof commands.detail !== 'string') return undefined;
  return { state: commands.state, detail: commands.detail };
}

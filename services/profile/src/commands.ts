import type { Finding } from '@hermes-fleet/gateway';
import type { DependencyState } from '@hermes-fleet/gateway/member';
import { exposedKey } from '@hermes-fleet/loop';
import type { Confinement } from '@hermes-fleet/workspace';
import type { Configuration } from './read-configuration.ts';
import type { RunningProfile } from './running-profile.ts';

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

/** Warns where commands can read the key that signs commits. */
export function examineSigningKey({ agent }: Pick<Configuration, 'agent'>): Finding[] {
  const detail = exposedKey(agent);
  if (detail === undefined) return [];
  const fix = 'confine commands, e.g. with tools.shell.confine: bubblewrap, or remove the key';
  return [{ subject: 'commands', check: 'signing key', state: 'warning', detail, fix }];
}

/** How the running gateway confines commands, which only that process can find out; skipped when it does not say. */
export function examineCommands(
  configuration: Pick<Configuration, 'agent' | 'fleet'>,
  { url, dependencies: { commands } }: RunningProfile,
): Finding[] {
  if (!runsCommands(configuration)) return [];
  const found = { subject: 'commands', check: 'confinement' } as const;
  if (!commands) {
    const detail = `not tried: the profile does not say at ${url} how it confines commands; its start log does`;
    return [{ ...found, state: 'skipped', detail }];
  }
  const { state, detail } = commands;
  if (state === 'ok') return [{ ...found, state, detail }];
  return [{ ...found, state: 'warning', detail, fix: 'install bubblewrap, or see the start log' }];
}

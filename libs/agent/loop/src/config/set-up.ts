import type { DiskSpace, SetUpCommands } from '@hermes-fleet/workspace';
import type { AllowedNetwork } from '../network/allowed-network.ts';
import type { AgentConfig } from './config-yaml.ts';

/** The disk and the network of set-ups. */
export interface SetUpPlace {
  readonly disk: DiskSpace;
  readonly network: AllowedNetwork | undefined;
}

/** The set-up of new contexts, undefined where none is configured; `key` is what the proxy of its network calls it. */
export function setUpOf(
  { setup: commands, setup_timeout_s }: Pick<AgentConfig['workspace'], 'setup' | 'setup_timeout_s'>,
  { workspace: { max_mb }, tools }: AgentConfig,
  { disk, network }: SetUpPlace,
  key: string,
): SetUpCommands | undefined {
  if (commands.length === 0) return undefined;
  const maxBytes = max_mb === 0 ? undefined : max_mb * 1024 * 1024;
  const { path: shell = '/bin/sh', env } = tools.shell;
  const proxied = network && (() => network.openProxy({ command: key }));
  return { commands, shell, env, timeoutMs: setup_timeout_s * 1000, maxBytes, disk, proxied };
}

import type { TestContext } from 'node:test';
import type { Resolve } from '@hermes-fleet/net';
import { type Log, systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import {
  COMMAND_ENV,
  type CommandResult,
  type Confinement,
  createConfinement,
  runCommand,
  throughProxy,
} from '@hermes-fleet/workspace';
import { commandsFolder, makePlace, type Place } from '@hermes-fleet/workspace/testing';
import { AgentConfigSchema } from '../src/config/config-yaml.ts';
import { type AllowedNetwork, openConfiguredNetwork } from '../src/network/allowed-network.ts';

export interface NetworkScene {
  readonly place: Place;
  readonly network: AllowedNetwork;
  readonly confinement: Confinement;
  /** Runs a script as a confined command; resolves with what was refused to it, too. */
  run(
    script: string,
    o?: { timeoutMs?: number; stdin?: number; env?: Record<string, string> },
  ): Promise<CommandResult & { refused: readonly string[] }>;
}

/** Every name of a test is this machine. */
const toLoopback: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];

/** Commands in bubblewrap that reach these hosts. The caller asks `cannotConfine('bubblewrap')` first. */
export async function networkScene(
  t: TestContext,
  hosts: { readonly allow?: string[]; readonly allow_internal?: string[] },
  {
    log = silentLog,
    readable = [],
  }: {
    readonly log?: Log;
    /** Folders that commands may read. */
    readonly readable?: readonly string[];
  } = {},
): Promise<NetworkScene> {
  const place = makePlace(t);
  const parts = { ...place, clock: systemClock, log };
  const { tools } = AgentConfigSchema.parse({ tools: { shell: { network: hosts } } });
  const network = await openConfiguredNetwork(tools.shell.network, { ...parts, resolve: toLoopback });
  if (network === undefined) throw new TypeError('the configuration names no hosts');
  t.after(() => network[Symbol.asyncDispose]());
  const confinement = await createConfinement({
    ...parts,
    confine: 'bubblewrap',
    network: 'allow',
    readable,
  });
  const dir = await commandsFolder(place, confinement);
  return {
    place,
    network,
    confinement,
    async run(script, { timeoutMs = 60_000, stdin, env = {} } = {}) {
      const proxied = network.openProxy({ command: 'test' });
      const wrap = throughProxy(
        (command, args, proxy) => confinement.wrap(command, args, { writable: [dir], readOnly: [], proxy }),
        proxied,
      );
      const limits = { timeoutMs, keepBytes: 100_000, maxBytes: 1e6, clock: systemClock };
      const options = { cwd: dir, env: { ...COMMAND_ENV, HOME: dir, ...env }, ...limits };
      const line = wrap('/bin/bash', ['-c', script]);
      const result = await runCommand(line, stdin === undefined ? options : { ...options, stdin });
      return { ...result, refused: proxied.refused() };
    },
  };
}

import type { Writable } from 'node:stream';
import { FleetError } from '@hermes-fleet/protocol';
import { addToLocalEnv } from '../folder/env-local.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { OFFSETS } from '../local/port-offset.ts';
import { type Call, type Project, portVariable, takenPorts } from './project.ts';

/**
 * Moves the ports of a fleet folder that starts for the first time away from those that are in use, as
 * `freeOffset` does for processes: writes them all to `.env.local`, says so, and returns them as variables. Throws CONFIG_INVALID.
 */
export async function moveToFreePorts(
  folder: FleetFolder,
  { name, ports }: Project,
  { call, stderr }: { readonly call: Call; readonly stderr: Writable },
): Promise<NodeJS.ProcessEnv> {
  for (const offset of OFFSETS.slice(1)) {
    const moved = ports.map(({ service, port }) => ({ service, port: String(Number(port) + offset) }));
    if ((await takenPorts({ name, ports: moved }, call)).length > 0) continue;
    const variables = moved.map(({ service, port }) => [portVariable(service), port] as const);
    addToLocalEnv(folder, [
      '# Ports on this machine: the usual ones were in use at the first start.',
      ...variables.map(([variable, port]) => `${variable}=${port}`),
    ]);
    stderr.write(`usual ports are in use: this fleet adds ${offset} to each, by lines in .env.local\n`);
    return Object.fromEntries(variables);
  }
  throw new FleetError(
    'CONFIG_INVALID',
    `ports of this fleet are in use at each offset from 0 to ${OFFSETS.at(-1)}: stop another fleet, or set ${ports.map(({ service }) => portVariable(service)).join(', ')} in .env.local`,
  );
}

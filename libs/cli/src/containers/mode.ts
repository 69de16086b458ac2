import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { UsageError } from '../command-line/option-values.ts';
import { ownCommand } from '../command-line/own-command.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { hasEngine } from './docker.ts';
import { hostRequests } from './host-requests.ts';
import { listContainers } from './list-containers.ts';

/** A fleet runs in containers, or as plain processes (docs/operations.md#two-modes). */
export type Mode = 'docker' | 'process';

const markerOf = ({ dir }: FleetFolder): string => join(dir, 'mode');

/**
 * The mode of a fleet: FLEET_MODE, else that of what runs, else containers where a Docker engine answers. Throws CONFIG_INVALID
 * for another FLEET_MODE, and UsageError for processes on a host without Node.js.
 */
export async function modeOf(folder: FleetFolder, env: NodeJS.ProcessEnv): Promise<Mode> {
  const mode = forcedMode(env) ?? keptMode(folder) ?? ((await hasEngine(env)) ? 'docker' : 'process');
  if (mode === 'process' && hostRequests(env))
    throw new UsageError('a fleet of plain processes needs Node.js here: install Node.js with npm');
  return mode;
}

/** The mode that FLEET_MODE names; undefined without one. Throws CONFIG_INVALID. */
export function forcedMode({ FLEET_MODE: forced = '' }: NodeJS.ProcessEnv): Mode | undefined {
  if (forced === '' || forced === 'docker' || forced === 'process') return forced || undefined;
  throw new FleetError('CONFIG_INVALID', `FLEET_MODE must be docker or process, not "${forced}"`);
}

/** The mode of the fleet that is up: pid files are of processes, the marker is of containers. Undefined for one that is down. */
export function keptMode(folder: FleetFolder): Mode | undefined {
  const run = join(folder.dir, 'run');
  // The pid files of another user cannot be read: the command says so.
  if (existsSync(run) && (!isReadable(run) || globSync('*.json', { cwd: run }).length > 0)) return 'process';
  const marker = markerOf(folder);
  return existsSync(marker) && readFileSync(marker, 'utf8').trim() === 'docker' ? 'docker' : undefined;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Says that the fleet is up in containers, for later commands. */
export function rememberContainers(folder: FleetFolder): void {
  mkdirSync(folder.dir, { recursive: true });
  chmodSync(folder.dir, 0o711);
  writeFileSync(markerOf(folder), 'docker\n');
}

export const forgetContainers = (folder: FleetFolder): void => rmSync(markerOf(folder), { force: true });

/**
 * A folder has one fleet that runs: a second one in the other mode would need the same ports, and `down` would miss it. Throws
 * CONFIG_INVALID.
 */
export async function refuseSecondFleet(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  wanted: Mode,
): Promise<void> {
  const kept = keptMode(folder);
  if (kept === undefined || kept === wanted) return;
  if (kept === 'docker' && !((await hasEngine(env)) && (await listContainers(folder, env)).length > 0))
    return;
  throw new FleetError(
    'CONFIG_INVALID',
    `the fleet is up already, as FLEET_MODE=${kept}: FLEET_MODE=${kept} ${ownCommand('down')} stops it`,
  );
}

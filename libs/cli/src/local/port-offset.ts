import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError, parseJson, systemCode } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { OTHER_PORTS } from '../folder/members.ts';
import { recordedNames, runningProcess } from './pid-file.ts';
import { type FleetPlan, planFleet } from './plan.ts';
import { isTaken } from './ready.ts';

/**
 * Records the port offset, so that later commands for the same folder use it, and whether there is a supervisor. Throws
 * CONFIG_INVALID if the fleet runs on other ports.
 */
export function recordFleet(plan: FleetPlan, isSupervised = false): void {
  const isRunning = recordedNames(plan.runDir).some((name) => runningProcess(plan.runDir, name));
  const recorded = recordedOffset(plan.dir);
  if (isRunning && recorded !== undefined && recorded !== plan.portOffset) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the fleet in ${plan.dir} runs with the port offset ${recorded}: take it down first, or use another --dir`,
    );
  }
  const record = { port_offset: plan.portOffset, supervised: isSupervised };
  writeFileSync(fileOf(plan.dir), `${JSON.stringify(record)}\n`);
}

const fileOf = (dir: string): string => join(dir, 'fleet.json');
const FleetFile = z.object({ port_offset: z.int(), supervised: z.boolean().default(false) }).readonly();

/** The port offset of the last `up` in this folder; undefined before the first one. Throws CONFIG_INVALID for a damaged file. */
export const recordedOffset = (dir: string): number | undefined => readFleet(dir)?.port_offset;

/** True if the last `up` in this folder should have started a supervisor. */
export const isSupervised = (dir: string): boolean => readFleet(dir)?.supervised === true;

function readFleet(dir: string): z.output<typeof FleetFile> | undefined {
  const file = fileOf(dir);
  try {
    return FleetFile.parse(parseJson(readFileSync(file, 'utf8')));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    if (systemCode(error) !== undefined) throw error;
    throw new FleetError(
      'CONFIG_INVALID',
      `${file} is damaged: write {"port_offset": 0} into it, or what the fleet adds to its ports instead of 0`,
      { cause: error },
    );
  }
}

/** Offsets that a fleet folder tries: 0, 100, … 900. */
export const OFFSETS = Array.from({ length: 10 }, (_, step) => step * 100);

/** The first offset at which no port of the fleet is in use on this machine, so that fleets run beside one another. Throws CONFIG_INVALID. */
export async function freeOffset(root: string, clock: Clock): Promise<number> {
  for (const portOffset of OFFSETS) {
    const plan = planFleet({ root, portOffset });
    const ports = [...plan.processes.map(({ port }) => port), OTHER_PORTS.prometheus + portOffset];
    const taken = await Promise.all(ports.map((port) => isTaken(port, clock)));
    if (!taken.includes(true)) return portOffset;
  }
  throw new FleetError(
    'CONFIG_INVALID',
    `ports of this fleet are in use at each offset from 0 to ${OFFSETS.at(-1)}: stop another fleet, or give --port-offset`,
  );
}

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError, isJsonObject, parseJson } from '@hermes-fleet/protocol';
import { runningProcess } from './pid-file.ts';
import type { FleetPlan } from './plan.ts';

/** Records the port offset, so that later commands for the same folder use it. Throws CONFIG_INVALID if the fleet runs on other ports. */
export function recordOffset(plan: FleetPlan): void {
  const isRunning = plan.processes.some(({ name }) => runningProcess(plan.runDir, name) !== undefined);
  const recorded = recordedOffset(plan.dir);
  if (isRunning && recorded !== undefined && recorded !== plan.portOffset) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the fleet in ${plan.dir} runs with the port offset ${recorded}: take it down first, or use another --dir`,
    );
  }
  writeFileSync(join(plan.dir, 'fleet.json'), `${JSON.stringify({ port_offset: plan.portOffset })}\n`);
}

/** The port offset of the last `up` in this folder. */
export function recordedOffset(dir: string): number | undefined {
  try {
    const value = parseJson(readFileSync(join(dir, 'fleet.json'), 'utf8'));
    return isJsonObject(value) && typeof value.port_offset === 'number' ? value.port_offset : undefined;
  } catch {
    return undefined;
  }
}

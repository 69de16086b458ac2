import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type BackupSummary, backUpToFile } from '../src/backup/backup.ts';
import { type FleetPlan, planFleet } from '../src/local/plan.ts';

/** The version of the program that backs up and restores. */
export const RELEASE = '1.2.3';
const ROOT = join(import.meta.dirname, '../../..');

/** Expects a FleetError. */
export const failure = (code: string, reason: RegExp) => (error: unknown) =>
  error instanceof FleetError && error.code === code && reason.test(error.message);

/** A folder as a fleet of plain processes leaves it. */
export function fleetFolder(t: TestContext): FleetPlan {
  const plan = planFleet({ root: ROOT, dir: join(tempDir(t), 'fleet') });
  const write = (path: string, text: string, mode = 0o600): void => {
    mkdirSync(join(plan.dir, path, '..'), { recursive: true });
    writeFileSync(join(plan.dir, path), text, { mode });
  };
  for (const name of ['switch', 'neo']) {
    write(`keys/${name}/A2A_HERMES_TOKEN_OPERATOR`, `hash of ${name}`, 0o400);
    write(`workspaces/${name}/contexts/c/tree/a file\nwith a line break`, 'x');
    write(`state/${name}/tmp/spill`, 'of SQLite');
    using db = new DatabaseSync(join(plan.dir, 'state', name, 'ledger.db'));
    db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('${name}')`);
  }
  symlinkSync('/etc', join(plan.dir, 'workspaces/neo/contexts/c/tree/link'));
  for (const path of ['nats/jetstream/1', 'logs/neo.log', 'cache/x', 'run/old', 'prometheus/data/x'])
    write(path, path);
  return plan;
}

export function backUp(
  plan: FleetPlan,
  file: string,
  member?: string,
): Promise<BackupSummary & { bytes: number }> {
  return backUpToFile({ plan, member, release: RELEASE, clock: systemClock }, file);
}

/** A fleet in a folder beside that of another one, which is not there yet. */
export const beside = (plan: FleetPlan, name: string): FleetPlan =>
  planFleet({ root: ROOT, dir: join(plan.dir, '..', name) });

/** What fleetFolder has written to the ledger of a member. */
export const valueIn = (plan: FleetPlan, name: string): unknown => {
  using db = new DatabaseSync(join(plan.dir, 'state', name, 'ledger.db'));
  return db.prepare('SELECT a FROM t').get()?.a;
};

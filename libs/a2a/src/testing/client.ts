import assert from 'node:assert/strict';
import { FleetError, type Log } from '@hermes-fleet/protocol';
import type { PeerTask } from '../client/peer-task.ts';

const nothing = (): void => undefined;
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export async function collect(snapshots: AsyncIterable<PeerTask>): Promise<PeerTask[]> {
  const all: PeerTask[] = [];
  for await (const snapshot of snapshots) all.push(snapshot);
  return all;
}

/** The FleetError that a call rejects with. */
export const refused = async (work: Promise<unknown>): Promise<FleetError> => {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof FleetError, String(thrown));
  return thrown;
};

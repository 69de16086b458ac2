import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type BusConnection, setUpStreams } from '@hermes-fleet/events';
import { type NatsServer, openConnection, recordingLog, startNatsServer } from '@hermes-fleet/events/testing';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { type AuditWatch, type AuditWatchOptions, watchAudit } from '../src/audit-heads.ts';
import { CONCERN, controlFile, headOf, refuseSome } from './control-file.ts';

/** Makes the file forget that it had more records than it has. */
export const FORGET = `UPDATE sqlite_sequence SET seq = (SELECT max(seq) FROM audit) WHERE name = 'audit'`;

export const connection = (url: string): BusConnection => ({ servers: [url], name: 'trader/test' });

export async function bus(t: TestContext): Promise<NatsServer> {
  const server = await startNatsServer(t);
  await setUpStreams({ connection: connection(server.url), log: recordingLog() });
  return server;
}

/** The published head, if any. */
export async function published(url: string): Promise<unknown> {
  const nc = await openConnection(connection(url), AbortSignal.timeout(10_000));
  try {
    const { streams } = await nc.jetstreamManager();
    if ((await streams.info('FLEET_AUDIT')).state.messages === 0) return undefined;
    const event = (await streams.getMessage('FLEET_AUDIT', { last_by_subj: 'fleet.audit.trader' })).json<{
      data: unknown;
    }>();
    return event.data;
  } finally {
    await nc.close();
  }
}

export function watch(
  t: TestContext,
  store: AuditWatchOptions['store'],
  url: string | undefined,
  everyMs = 60_000,
) {
  const log = recordingLog();
  const verdicts: boolean[] = [];
  const audit: AuditWatch = watchAudit({
    service: 'trader',
    store,
    clock: systemClock,
    log,
    connection: url === undefined ? undefined : connection(url),
    everyMs,
    onChange: ({ state }) => void (state !== 'unknown' && verdicts.push(state === 'ok')),
  });
  t.after(() => audit.close());
  return { audit, log, verdicts };
}

/** A closed file with five records whose head is published. */
export async function leftBehind(t: TestContext, url: string) {
  const control = controlFile(t, recordingLog());
  const store = control.open();
  await store.seed([], [CONCERN]);
  await refuseSome(store, 4);
  const { audit } = watch(t, store, url);
  assert.equal(await audit.heads?.flush(20_000), true);
  assert.deepEqual(await published(url), headOf(store));
  await audit.close();
  await store.close();
  return control;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { bus } from '../../testing/streams.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { type ConsumeOptions, consume, type StreamPosition } from './consume.ts';
import type { EventMeta, StreamFacts } from './consumer-session.ts';

const deadline = { timeout: 60_000 };

test(
  'a reader continues behind the position that it stored, and reads a recreated stream from its start',
  deadline,
  async (t) => {
    const { server, publishEvents, jsm, publish } = await bus(t);
    const connection = { servers: [server.url], name: 'reader' };
    await setUpStreams({ connection, log: silentLog });
    await publishEvents('neo', 1, 5);
    await publish('fleet.task.neo.done', 'no event');

    const read = async (after: StreamPosition | undefined, more: Partial<ConsumeOptions> = {}) => {
      const metas: EventMeta[] = [];
      const streams: StreamFacts[] = [];
      const skipped: number[] = [];
      await consume({
        ...{ connection, filter: 'fleet.task.>', fromStart: true, untilEnd: true, after },
        ...{ signal: t.signal, log: silentLog, clock: systemClock },
        onEvent: (_event, meta) => void metas.push(meta),
        onSkipped: (_reason, { seq }) => void skipped.push(seq),
        onStream: (stream) => void streams.push(stream),
        ...more,
      });
      return {
        seqs: metas.map(({ seq }) => seq),
        pending: metas.map(({ pending }) => pending),
        skipped,
        streams,
        metas,
      };
    };
    const all = await read(undefined);
    assert.deepEqual([all.seqs, all.pending, all.skipped], [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [6]]);
    const { created = '' } = all.metas[0] ?? {};
    assert.deepEqual(all.streams, [{ created, firstSeq: 1, lastSeq: 6, after: 0 }]);

    const rest = await read({ seq: 3, created });
    assert.deepEqual([rest.seqs, rest.skipped], [[4, 5], [6]]);

    await jsm.streams.delete('FLEET');
    await setUpStreams({ connection, log: silentLog });
    await publishEvents('neo', 6, 7);
    const recreated = await read({ seq: 5, created });
    assert.deepEqual(recreated.seqs, [1, 2]);
    assert.notEqual(recreated.metas[0]?.created, created);
  },
);

test('an error of onSkipped ends the consumer as one of onEvent does', deadline, async (t) => {
  const { server, publish, connection } = await bus(t);
  await setUpStreams({ connection, log: silentLog });
  await publish('fleet.task.neo.done', 'no event');
  await assert.rejects(
    consume({
      connection: { servers: [server.url], name: 'reader' },
      ...{ filter: 'fleet.task.>', fromStart: true, signal: t.signal, log: silentLog, clock: systemClock },
      onEvent: () => undefined,
      onSkipped: () => {
        throw new Error('no more');
      },
    }),
    /no more/,
  );
});

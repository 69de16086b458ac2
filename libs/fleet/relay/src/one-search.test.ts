import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { dispatching, type RelayFleet, relayFleet, spending } from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { createLogger } from '@hermes-fleet/service';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const AT_NEO = { routing: { target: 'neo' } };
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;

/** A fleet whose profiles log to one list of lines, as to one file. */
async function logged(t: TestContext): Promise<RelayFleet & { readonly lines: string[] }> {
  const lines: string[] = [];
  const log = (name: string): Log =>
    createLogger({ name, pretty: false, stream: { write: (line) => void lines.push(line) } });
  const workers = {
    neo: { script: spending(1), tier: 'sonnet', log: log('neo') },
    trinity: { script: spending(1), tier: 'opus', log: log('trinity') },
  };
  return { ...(await relayFleet(t, workers, { log: log('switch') })), lines };
}

/** The lines with this text: who wrote them, and what they say. */
function search(lines: readonly string[], text: string): string[] {
  const found = lines.filter((line) => line.includes(text)).map((line): JsonObject => JSON.parse(line));
  return found.map(({ name, msg }) => `${name}: ${String(msg).split(':')[0]}`);
}

const EVERYWHERE = [
  'switch: task accepted',
  'switch: task started',
  'switch: task is sent to a peer',
  'neo: task accepted',
  'neo: task started',
  'neo: task ended',
  'switch: task ended',
];

describe('one search in all logs follows a task through the fleet', { concurrency: 2 }, () => {
  it("by the caller's name for it, by its root and by its trace", async (t) => {
    const { orchestrator, lines } = await logged(t);
    const other = await orchestrator.send(dispatching({ task_id: 'another' }, AT_NEO));
    const own = { ...dispatching({ task_id: 'night-build' }, AT_NEO), traceparent: TRACEPARENT };
    const ofChain = {
      ...dispatching({ task_id: 'part', root_id: 'whole' }, AT_NEO),
      traceparent: TRACEPARENT,
    };
    const id = await orchestrator.send(own);
    const part = await orchestrator.send(ofChain);
    for (const each of [id, part, other]) assert.equal((await orchestrator.result(each)).status, 'done');
    for (const text of ['"root_id":"night-build"', '"root_id":"whole"'])
      assert.deepEqual(search(lines, text).sort(), [...EVERYWHERE].sort(), text);
    assert.equal(search(lines, 'night-build').length, EVERYWHERE.length);
    assert.ok(search(lines, '"dispatch_id":"night-build"').every((line) => line.startsWith('switch')));
    assert.deepEqual(
      search(lines, `"dispatch_id":"${id}"`),
      EVERYWHERE.filter((line) => line.startsWith('neo')),
    );
    assert.equal(search(lines, `"task_id":"${id}"`).length, 4);
    assert.equal(search(lines, `"trace_id":"${TRACE}"`).length, 2 * EVERYWHERE.length);
  });

  it('also one that a worker refuses', async (t) => {
    const { orchestrator, worker, lines } = await logged(t);
    worker('neo').facts.usable = false;
    const id = await orchestrator.send(dispatching({ task_id: 'refused-once' }));
    assert.equal((await orchestrator.result(id)).status, 'done');
    const found = search(lines, 'refused-once');
    for (const line of [
      'neo: task accepted',
      'neo: task blocked',
      'trinity: task ended',
      'switch: task ended',
    ])
      assert.ok(found.includes(line), `${line} in ${found.join('; ')}`);
  });
});

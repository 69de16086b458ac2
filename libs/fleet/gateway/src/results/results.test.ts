import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import type { TaskRecord } from '@hermes-fleet/ledger';
import { manualClock, peerOf } from '@hermes-fleet/peers/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { DELIVERY, fileResults } from '../../testing/file-results.ts';
import { dispatching } from '../../testing/messages.ts';
import { profile } from '../../testing/profile.ts';
import { createResults, type ResultsOptions } from './results.ts';

const never = new AbortController().signal;
const clock = manualClock();
const worked = (
  attempt: JsonObject = {},
  artifacts: JsonObject = { delivery: { ...DELIVERY } },
): JsonObject => ({
  status: 'done',
  artifacts: { files_changed: ['a.ts'], ...artifacts },
  attempts: [{ peer: 'neo', status: 'done', ...attempt }],
});

/** Opens the diff of a task with this result, which is not to be read here. */
async function opening(t: TestContext, result: JsonObject, o: Partial<ResultsOptions> = {}) {
  const one = await profile(t);
  const task: TaskRecord = { ...one.task(await ended(one)), id: 't', result };
  const agentResults = fileResults(tempDir(t));
  agentResults.onRead = () => assert.fail('read here');
  const results = createResults({
    agentResults,
    ledger: { lateResult: () => undefined },
    peers: { get: () => peerOf('neo') },
    client: createA2AClient({ clock: systemClock, log: silentLog, extensions: [] }),
    clock,
    log: silentLog,
    ...o,
  });
  return results.open(task, { kind: 'diff', stat: false }, never);
}

async function ended(one: Awaited<ReturnType<typeof profile>>): Promise<string> {
  const id = await one.send(dispatching());
  await one.result(id);
  return id;
}

test('a task that a prose peer did has no result here, whatever its result says', async (t) => {
  const card = { versions: [], handshake: false, readAt: clock.now() };
  const peers = { get: () => peerOf('neo', { announce: undefined, card }) };
  for (const result of [worked(), worked({}, {})])
    await assert.rejects(opening(t, result, { peers }), {
      code: 'NO_RESULT',
      message: /^neo, which did task t, does not speak the handshake and keeps its files: ask/,
    });
});

test('a task of an older release, of which the peer’s id is not known, is refused with what to do', async (t) => {
  for (const result of [worked(), worked({}, {})])
    await assert.rejects(opening(t, result), {
      code: 'NO_RESULT',
      message: /^task t ended before the release .* take the branch/,
    });
});

test('a peer that is not known any more is named', async (t) => {
  await assert.rejects(opening(t, worked({ peer_task_id: 'r' }), { peers: { get: () => undefined } }), {
    code: 'PEER_UNREACHABLE',
    message: /^neo, which did task t, is not known as a peer now: add it to fleet\.agents/,
  });
});

test('what a peer that did no work says of files is not looked for here', async (t) => {
  const refused = { ...worked({ status: 'blocked', peer_task_id: 'r' }), status: 'blocked' };
  await assert.rejects(opening(t, refused), { code: 'NO_RESULT' });
});

test('a result that came late has its files', async (t) => {
  const sent: string[] = [];
  const fetch: ResultsOptions['client']['fetch'] = async (url) => {
    sent.push(url);
    return new Response('d', { headers: { 'content-type': 'text/x-diff; charset=utf-8' } });
  };
  const given = { ...worked({ status: 'error', peer_task_id: 'r' }, {}), status: 'error' };
  const late = { artifacts: { files_changed: ['a.ts'], delivery: { ...DELIVERY } } };
  const { content } = await opening(t, given, { ledger: { lateResult: () => late }, client: { fetch } });
  assert.equal(await text(content), 'd');
  assert.deepEqual(sent, ['http://neo:9220/fleet/tasks/r/diff']);
});

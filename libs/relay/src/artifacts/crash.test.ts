import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DONE, dispatching, relayFleet, type Script, type TestProfile } from '@hermes-fleet/fleet/testing';
import { isTerminal } from '@hermes-fleet/ledger';
import { systemClock } from '@hermes-fleet/protocol';
import { Fate, type Mode, mortal } from '../testing/mortal.ts';

const LARGE = Buffer.alloc(300_000, 'z').toString('base64');

/** Adds chunks of text, a large file and data; a run that a restart repeats adds them again. */
const producing: Script = async (_task, { artifacts }) => {
  for (const [place, text] of ['one ', 'two ', 'three'].entries())
    await artifacts?.add({
      id: 'report',
      place,
      name: 'r',
      parts: [{ kind: 'text', text }],
      isLast: place === 2,
    });
  await artifacts?.add({ id: 'file', place: 0, parts: [{ kind: 'file', base64: LARGE }], isLast: true });
  await artifacts?.add({ id: 'data', place: 0, parts: [{ kind: 'data', data: [1] }], isLast: true });
  return DONE;
};

/** A caller that sends its dispatch until the task has ended. */
async function insist(at: TestProfile, taskId: string, over: AbortSignal): Promise<string | undefined> {
  while (!over.aborted) {
    const id = await at.send(dispatching({ task_id: taskId })).catch(() => undefined);
    if (id !== undefined && isTerminal(at.task(id).state)) return id;
    await systemClock.sleep(10);
  }
  return undefined;
}

function assertWhole(at: TestProfile, id: string, where: string): void {
  const chunks = at.ledger.artifacts(id);
  const of = (name: string) => at.ledger.wholeArtifact(id, name);
  const text = of('report').flatMap(({ parts }) =>
    parts.map((part) => (part.kind === 'text' ? part.text : '?')),
  );
  assert.equal(text.join(''), 'one two three', `${where}: at ${at.name}`);
  assert.deepEqual(
    of('file').flatMap(({ parts }) => parts.map((part) => part.kind === 'file' && part.base64 === LARGE)),
    [true],
    where,
  );
  assert.deepEqual(
    of('data').map(({ parts }) => parts),
    [[{ kind: 'data', data: [1] }]].map(withType(at)),
    where,
  );
  assert.equal(at.events(id).filter((type) => type === 'artifact').length, chunks.length, where);
}

/** The orchestrator has the media type that its worker's profile shows for data. */
const withType =
  ({ name }: TestProfile) =>
  <P extends object>(parts: P[]): P[] =>
    name === 'switch' ? parts.map((part) => ({ ...part, mediaType: 'application/json' })) : parts;

for (const victim of ['neo', 'switch'] as const)
  test(`after a kill of ${victim} at any write, both profiles have each part of an artifact once`, async (t) => {
    const life = mortal();
    const workers = { neo: { script: producing, ...(victim === 'neo' ? { ledger: life.ledger } : {}) } };
    const fleet = await relayFleet(t, workers, victim === 'switch' ? { ledger: life.ledger } : {});
    const { orchestrator } = fleet;
    const neo = fleet.worker('neo');
    let died = true;
    let round = 0;
    while (died) {
      const mode: Mode = round % 2 === 0 ? 'before' : 'after';
      const nth = 1 + Math.floor(round / 2);
      round += 1;
      const where = `${victim} killed ${mode} write ${nth}`;
      const taskId = `task-${round}`;
      const fate = new Fate(nth, mode);
      life.give(fate);
      const first = new AbortController();
      const came = await Promise.race([insist(orchestrator, taskId, first.signal), fate.died]);
      first.abort();
      died = came === 'died';
      if (died) {
        const dead = victim === 'neo' ? neo : orchestrator;
        const crashed = dead.crash();
        fate.bury();
        await crashed;
        await dead.restart();
        await fleet.hear('neo');
      }
      const ended = died ? await insist(orchestrator, taskId, AbortSignal.timeout(20_000)) : came;
      const id = ended ?? assert.fail(where);
      assert.equal((await orchestrator.result(id)).status, 'done', where);
      assertWhole(orchestrator, id, where);
      const remote = neo.ledger.list({ pageSize: 100 }).tasks.find(({ key }) => key === id);
      assertWhole(neo, remote?.id ?? '', where);
    }
    t.diagnostic(`${victim} was killed ${round - 1} times`);
    assert.ok(round > 8, `it was killed only ${round - 1} times`);
  });

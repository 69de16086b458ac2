import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTerminal, type Ledger } from '@hermes-fleet/ledger';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { around, type Life, lifeUntil, type Share, sweepCrashes } from '@hermes-fleet/protocol/testing';
import { dispatching, inbound } from './messages.ts';
import { relayFleet } from './relay-fleet.ts';
import { asking, CALLER, type Script } from './scripts.ts';
import type { TestProfile } from './test-profile.ts';

const LARGE = Buffer.alloc(300_000, 'z').toString('base64');
const QUESTIONS = ['Which room?', 'Which wall?'];
const TOLD = QUESTIONS.map((question) => `${question} Yes.`);
const WRITES = ['accept', 'addArtifact', 'append', 'ask', 'answer', 'withdraw', 'saveCheckpoint'] as const;

/** Asks twice between checkpoints, and adds chunks of text, a large file and data; a repeated run adds them again. */
const working: Script = async (task, context) => {
  await context.checkpoint.save({ begun: true });
  const outcome = await asking(...QUESTIONS)(task, context);
  await context.checkpoint.save({ begun: true, answered: true });
  for (const [place, text] of ['one ', 'two ', 'three'].entries()) {
    const chunk = { id: 'report', place, name: 'r', parts: [{ kind: 'text' as const, text }] };
    await context.artifacts?.add({ ...chunk, isLast: place === 2 });
  }
  const whole = { place: 0, isLast: true };
  await context.artifacts?.add({ id: 'file', parts: [{ kind: 'file', base64: LARGE }], ...whole });
  await context.artifacts?.add({ id: 'data', parts: [{ kind: 'data', data: [1] }], ...whole });
  return outcome;
};

/** A caller that sends its dispatch and its answers again until the task has ended. */
async function insist(at: TestProfile, taskId: string, over: AbortSignal): Promise<string | undefined> {
  while (!over.aborted) {
    const id = await at.send(dispatching({ task_id: taskId })).catch(() => undefined);
    if (id !== undefined && isTerminal(at.task(id).state)) return id;
    const open = id === undefined ? undefined : at.ledger.questions(id).find(({ answer }) => !answer);
    if (id !== undefined && open) {
      const answer = { taskId: id, messageId: `answer to ${open.text}`, text: `${open.text} Yes.` };
      await at.gateway.accept(inbound(answer), CALLER).catch(() => undefined);
    }
    await systemClock.sleep(10);
  }
  return undefined;
}

/** Asserts that a profile has each question, each answer and each part of an artifact once. */
function assertWhole(at: TestProfile, id: string): void {
  const given = at.ledger.questions(id).map(({ answer }) => answer?.text);
  assert.deepEqual(given, TOLD, `the answers at ${at.name}`);
  const events = at.events(id);
  const asked = events.filter((type) => type === 'input_required' || type === 'answered');
  assert.equal(asked.length, 2 * TOLD.length, `the questions at ${at.name}`);
  const partsOf = (name: string) => at.ledger.wholeArtifact(id, name).flatMap(({ parts }) => parts);
  const text = partsOf('report').map((part) => (part.kind === 'text' ? part.text : '?'));
  assert.equal(text.join(''), 'one two three', `the text at ${at.name}`);
  const isWhole = partsOf('file').map((part) => part.kind === 'file' && part.base64 === LARGE);
  assert.deepEqual(isWhole, [true], `the file at ${at.name}`);
  // The orchestrator has the media type that its worker's profile shows for data.
  const mediaType = at.name === 'switch' ? { mediaType: 'application/json' } : {};
  assert.deepEqual(partsOf('data'), [{ kind: 'data', data: [1], ...mediaType }], `the data at ${at.name}`);
  const chunks = events.filter((type) => type === 'artifact');
  assert.equal(chunks.length, at.ledger.artifacts(id).length, `the chunks at ${at.name}`);
}

/** The ledgers of a profile's successive processes; the latest process can be told when to die. */
function mortalLedger(): { ledger: (real: Ledger) => Ledger; give(life: Life): void } {
  let latest: { life?: Life } = {};
  return {
    give(life) {
      latest.life = life;
    },
    ledger(real) {
      const own: typeof latest = {};
      latest = own;
      return around(real, WRITES, (write) => own.life?.write(write) ?? write());
    },
  };
}

/** Registers a test for the worker and one for the orchestrator, which dies before and after the writes of a task. */
export function testRelayCrashes(share: Share): void {
  for (const victim of ['neo', 'switch'] as const)
    test(`after a kill of ${victim} at any write, a task repeats no question and no answer, and has each part of an artifact once`, async (t) => {
      const mortal = mortalLedger();
      const { ledger } = mortal;
      const neoOptions = { script: working, ...(victim === 'neo' ? { ledger } : {}) };
      const fleet = await relayFleet(t, { neo: neoOptions }, victim === 'switch' ? { ledger } : {});
      const { orchestrator } = fleet;
      const neo = fleet.worker('neo');
      let tasks = 0;
      const diedAt = new Set<number>();
      /** Sends a task to a process that dies at the moment, and starts it again. */
      async function send(moment: number): Promise<{ taskId: string; life: Life; hasDied: boolean }> {
        tasks += 1;
        const taskId = `task-${tasks}`;
        const life = lifeUntil(moment);
        mortal.give(life);
        const over = new AbortController();
        const ended = await Promise.race([insist(orchestrator, taskId, over.signal), life.died]);
        over.abort();
        if (ended !== undefined) return { taskId, life, hasDied: false };
        diedAt.add(moment);
        // Its connections are cut before any client gets an answer.
        const dead = victim === 'neo' ? neo : orchestrator;
        const crashed = dead.crash();
        life.bury();
        await crashed;
        await dead.restart();
        await fleet.hear('neo');
        return { taskId, life, hasDied: true };
      }
      /** Sends tasks until a process dies. A task can have fewer moments than the first had: then an earlier one is tried. */
      async function sendUntilDead(moment: number): Promise<{ taskId: string }> {
        for (let at = moment; at > 0; at = Math.floor(at / 2)) {
          const { taskId, hasDied } = await send(at);
          if (hasDied) return { taskId };
        }
        throw new Error(`${victim} outlived ${moment} and each earlier moment`);
      }
      async function check({ taskId }: { taskId: string }): Promise<void> {
        const id = await insist(orchestrator, taskId, AbortSignal.timeout(20_000));
        assert.ok(id, 'the task has not ended');
        const { status, text } = await orchestrator.result(id);
        assert.deepEqual([status, text], ['done', TOLD.join(', ')]);
        assertWhole(orchestrator, id);
        const remote = neo.ledger.list({ pageSize: 100 }).tasks.filter(({ key }) => key === id);
        assert.equal(remote.length, 1, `the work was begun ${remote.length} times`);
        assertWhole(neo, remote[0]?.id ?? '');
      }
      const tried = await sweepCrashes(t, {
        share,
        act: sendUntilDead,
        check,
        async start() {
          const whole = await send(0);
          await check(whole);
          assert.ok(whole.life.moments >= 24, `${whole.life.moments} moments`);
          return Array.from({ length: whole.life.moments }, (_, at) => at + 1);
        },
      });
      t.diagnostic(`moments at which ${victim} was killed: ${diedAt.size}`);
      assert.ok(diedAt.size >= 0.8 * tried - 1, `${victim} was killed at ${diedAt.size} of ${tried} moments`);
    });
}

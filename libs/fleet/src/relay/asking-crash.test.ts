import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ledger } from '@hermes-fleet/ledger';
import { systemClock } from '@hermes-fleet/protocol';
import { dispatching, inbound } from '../testing/messages.ts';
import { asking, CALLER, type Script, type TestProfile } from '../testing/profile.ts';
import { relayFleet } from '../testing/relay-fleet.ts';

type Mode = 'before' | 'after';

/** Kills a profile at its nth write: just before it is made, or just after, unseen. Nothing else is written then. */
function fatal(nth: number, mode: Mode) {
  const died = Promise.withResolvers<void>();
  let writes = 0;
  let dead = false;
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => undefined);
  const mortal =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (dead) return await gone.promise;
      writes += 1;
      if (writes !== nth) return await write(...args);
      dead = true;
      if (mode === 'after') await write(...args);
      died.resolve();
      return await gone.promise;
    };
  const ledger = (real: Ledger): Ledger => {
    // The next life is spared.
    if (dead) return real;
    const { accept, append, ask, answer, saveCheckpoint } = real;
    return {
      ...real,
      ...{ accept: mortal(accept), append: mortal(append), ask: mortal(ask) },
      ...{ answer: mortal(answer), saveCheckpoint: mortal(saveCheckpoint) },
    };
  };
  return { ledger, died: died.promise, bury: () => gone.reject(new Error('killed')) };
}

/** A caller that wants its task done: it sends what it has to say until that is taken. */
async function insist(at: TestProfile, taskId: string, over: AbortSignal): Promise<string | undefined> {
  while (!over.aborted) {
    const id = await at.send(dispatching({ task_id: taskId })).catch(() => undefined);
    if (id !== undefined && at.task(id).result) return id;
    const open = id === undefined ? undefined : at.ledger.questions(id).find(({ answer }) => !answer);
    if (id !== undefined && open) {
      const answer = { taskId: id, messageId: `answer to ${open.text}`, text: `${open.text} Yes.` };
      await at.gateway.accept(inbound(answer), CALLER).catch(() => undefined);
    }
    await systemClock.sleep(10);
  }
  return undefined;
}

/** Work with something to lose between its questions. */
const careful: Script = async (task, context) => {
  await context.checkpoint.save({ begun: true });
  const outcome = await asking('Which room?', 'Which wall?')(task, context);
  await context.checkpoint.save({ begun: true, answered: true });
  return outcome;
};

for (const victim of ['neo', 'switch'] as const)
  test(`${victim} is killed at every write of a task that asks twice: nothing is asked or answered twice`, async (t) => {
    for (let nth = 1; ; nth += 1) {
      const mode: Mode = nth % 2 === 0 ? 'before' : 'after';
      const where = `${victim} killed ${mode} write ${nth}`;
      const { ledger, died, bury } = fatal(nth, mode);
      const workers = { neo: { script: careful, ...(victim === 'neo' ? { ledger } : {}) } };
      const fleet = await relayFleet(t, workers, victim === 'switch' ? { ledger } : {});
      const { orchestrator } = fleet;
      const neo = fleet.worker('neo');
      const first = new AbortController();
      const taskId = `task-${nth}`;
      const fate = await Promise.race([insist(orchestrator, taskId, first.signal), died.then(() => 'died')]);
      first.abort();
      if (fate === 'died') {
        const dead = victim === 'neo' ? neo : orchestrator;
        // Its connections are cut before anybody hears of it.
        const crashed = dead.crash();
        bury();
        await crashed;
        await dead.restart();
        await fleet.hear('neo');
      }
      const id = (await insist(orchestrator, taskId, AbortSignal.timeout(20_000))) ?? assert.fail(where);
      const result = await orchestrator.result(id);
      assert.deepEqual(
        [result.status, result.text],
        ['done', 'Which room? Yes., Which wall? Yes.'],
        `${where}: ${JSON.stringify(result)}`,
      );
      const told = ['Which room? Yes.', 'Which wall? Yes.'];
      const [remote, ...others] = neo.ledger.list({ pageSize: 10 }).tasks;
      assert.equal(others.length, 0, `${where}: the work was begun twice`);
      for (const [at, task] of [
        [orchestrator, id],
        [neo, remote?.id ?? ''],
      ] as const) {
        const given = at.ledger.questions(task).map(({ answer }) => answer?.text);
        assert.deepEqual(given, told, `${where}: at ${at.name}`);
        const asked = at.events(task).filter((type) => type === 'input_required' || type === 'answered');
        assert.equal(asked.length, 4, where);
      }
      for (const each of [orchestrator, neo]) await each.end();
      if (fate !== 'died') {
        assert.ok(nth > 8, `there were only ${nth - 1} writes`);
        break;
      }
    }
  });

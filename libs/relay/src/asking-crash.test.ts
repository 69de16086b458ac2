import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asking,
  CALLER,
  dispatching,
  inbound,
  relayFleet,
  type Script,
  type TestProfile,
} from '@hermes-fleet/fleet/testing';
import { isTerminal } from '@hermes-fleet/ledger';
import { isJsonObject, systemClock } from '@hermes-fleet/protocol';
import { Fate, type Mode, mortal } from './testing/mortal.ts';

/** A caller that resends its dispatch and its answers until they are accepted. */
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

/** Work with a checkpoint between its questions. */
const careful: Script = async (task, context) => {
  await context.checkpoint.save({ begun: true });
  const outcome = await asking('Which room?', 'Which wall?')(task, context);
  await context.checkpoint.save({ begun: true, answered: true });
  return outcome;
};

const TOLD = ['Which room? Yes.', 'Which wall? Yes.'];

function assertAskedOnce(at: TestProfile, id: string, where: string): void {
  const given = at.ledger.questions(id).map(({ answer }) => answer?.text);
  assert.deepEqual(given, TOLD, `${where}: at ${at.name}`);
  const asked = at.events(id).filter((type) => type === 'input_required' || type === 'answered');
  assert.equal(asked.length, 2 * TOLD.length, where);
}

for (const victim of ['neo', 'switch'] as const)
  test(`after a kill of ${victim} at any write, a task that asks twice repeats no question and no answer`, async (t) => {
    const life = mortal();
    const workers = { neo: { script: careful, ...(victim === 'neo' ? { ledger: life.ledger } : {}) } };
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
        // Its connections are cut before any client gets an answer.
        const dead = victim === 'neo' ? neo : orchestrator;
        const crashed = dead.crash();
        fate.bury();
        await crashed;
        await dead.restart();
        await fleet.hear('neo');
      }
      const ended = died ? await insist(orchestrator, taskId, AbortSignal.timeout(20_000)) : came;
      const id = ended ?? assert.fail(where);
      const result = await orchestrator.result(id);
      const outcome = [result.status, result.text];
      assert.deepEqual(outcome, ['done', TOLD.join(', ')], `${where}: ${JSON.stringify(result)}`);
      assertAskedOnce(orchestrator, id, where);
      const remote = neo.ledger.list({ pageSize: 100 }).tasks.filter(({ dispatch: { task } }) => {
        const parent = isJsonObject(task) ? task.parent : undefined;
        return isJsonObject(parent) && parent.task_id === taskId;
      });
      assert.equal(remote.length, 1, `${where}: the work was begun ${remote.length} times`);
      assertAskedOnce(neo, remote[0]?.id ?? '', where);
    }
    t.diagnostic(`${victim} was killed ${round - 1} times`);
    assert.ok(round > 16, `it was killed only ${round - 1} times`);
  });

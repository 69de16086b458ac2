import assert from 'node:assert/strict';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { ownTask, tool } from './agent-work.ts';
import { type Fleet, until } from './fleet.ts';
import { readAccount } from './ledger-file.ts';
import { call, dispatch, message, resultOf, runbook } from './rpc.ts';

const NOBODY_HAS = { required_mcp: ['nope'] };

/** A task that entered the fleet. */
export interface Root {
  readonly profile: string;
  readonly id: string;
}

/** What one round of `sendRound` blocks, and the tokens that this saves. */
export const BLOCKED_OF_ROUND = 3;
export const SAVED_OF_ROUND = 60 + 700 + 700;

/** Sends a dispatch to a profile, as a root task. */
export async function sendRoot(fleet: Fleet, profile: string, sent: Record<string, unknown>): Promise<Root> {
  const { body } = await call(
    fleet.target(profile),
    'SendMessage',
    message(sent, { returnImmediately: true }),
  );
  return { profile, id: body.result?.task.id ?? assert.fail(JSON.stringify(body)) };
}

/** Sends one task of every kind that ends by itself. */
export function sendRound(fleet: Fleet): Promise<Root[]> {
  const brief = runbook('a.txt', 'a', 'sleep 1', 'cat a.txt');
  const auto = { target: 'auto' };
  const delegating = ownTask([tool('fleet_send', { agent: 'neo', brief })]);
  const [floor, missing] = [{ token_budget: 60 }, { token_budget: 700 }];
  return Promise.all([
    ...[1, 2, 3, 4].map(() => sendRoot(fleet, 'switch', dispatch({ brief, routing: auto }))),
    sendRoot(fleet, 'switch', delegating),
    sendRoot(fleet, 'neo', dispatch({ brief })),
    sendRoot(fleet, 'trinity', dispatch({ brief, task: { token_budget: 9_000 } })),
    // Only the workers know that this budget is too small.
    sendRoot(fleet, 'switch', dispatch({ brief, task: floor, routing: auto })),
    sendRoot(fleet, 'switch', dispatch({ brief, task: missing, requirements: NOBODY_HAS, routing: auto })),
    sendRoot(fleet, 'neo', dispatch({ brief, task: missing, requirements: NOBODY_HAS })),
  ]);
}

/** The results of tasks, when all have ended. */
export async function resultsOf(fleet: Fleet, roots: readonly Root[]): Promise<JsonObject[]> {
  const results: JsonObject[] = [];
  for (const { profile, id } of roots) {
    let result: unknown;
    await until(
      async () => {
        result = resultOf((await call(fleet.target(profile), 'GetTask', { id })).body.result);
        return isJsonObject(result);
      },
      `task ${id} of ${profile} to end`,
      180_000,
    );
    if (isJsonObject(result)) results.push(result);
  }
  return results;
}

/**
 * The tokens of the results of tasks that have ended, when they are those of the ledgers: what a worker spent after the end
 * of its caller's task is in a result of its own (docs/handshake.md#late-results), which comes when the worker answers again.
 */
export async function spentBy(fleet: Fleet, roots: readonly Root[]): Promise<number> {
  const ofResults = async (): Promise<number> => {
    const tasks = await Promise.all(
      roots.map(({ profile, id }) => call(fleet.target(profile), 'GetTask', { id })),
    );
    return sum(
      tasks.flatMap(({ body }) =>
        ['task-result', 'late-result'].map((name) => Number(resultOf(body.result, name)?.tokens_spent ?? 0)),
      ),
    );
  };
  const ofLedgers = (): number =>
    sum(fleet.plan.profiles.map(({ name }) => readAccount(join(fleet.dir, 'state', name, 'ledger.db')).own));
  const areSame = async (): Promise<boolean> => (await ofResults()) === ofLedgers();
  await until(areSame, 'results and ledgers to have the same tokens').catch(() => undefined);
  const spent = await ofResults();
  assert.equal(spent, ofLedgers(), 'tokens: results and ledgers');
  return spent;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

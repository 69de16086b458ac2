import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { runLife, type Share, sweepCrashes, tempDir } from '@hermes-fleet/protocol/testing';
import { dispatching } from './messages.ts';
import { profile } from './profile.ts';
import { CALLER } from './scripts.ts';

const CHILD = join(import.meta.dirname, 'crash-child.ts');
/** The dispatches by key, each with the fields that differ from the default. */
const DISPATCHES = { first: {}, second: {}, refused: { requirements: { required_mcp: ['nope'] } } };
const CONCURRENCY = 2;
/** Every kind has so many moments at least: one case needs no whole life that counts them. */
const FEWEST_MOMENTS = 12;

const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1);

/** Asserts that a process that died left whole tasks only, and that the next one ends each of them once. */
async function assertWhole(t: TestContext, dir: string, lines: readonly string[], kind: string) {
  const neo = await profile(t, { dir, fleet: { limits: { max_concurrent_tasks: 2 } } });
  try {
    const stored = new Map<string, string>();
    for (const { id, key } of neo.ledger.list({ pageSize: 100 }).tasks) {
      assert.ok(!stored.has(key), `two tasks of ${key}`);
      stored.set(key, id);
      const decided = key === 'refused' ? 'blocked' : 'queued';
      assert.deepEqual(neo.events(id).slice(0, 2), ['submitted', decided], 'a task is stored in parts');
    }
    for (const [word, key = '', id] of lines.map((line) => line.split(' ')))
      if (word === 'ack') assert.equal(stored.get(key), id, `${key} is lost`);
    const runs = existsSync(join(dir, 'runs')) ? readFileSync(join(dir, 'runs'), 'utf8').split('\n') : [];
    if (kind !== 'free')
      for (const key of runs.filter((run) => run !== ''))
        assert.ok(neo.events(stored.get(key) ?? '').includes('started'), `${key} ran before it was durable`);
    await neo.gateway.recover();
    for (const [key, rest] of Object.entries(DISPATCHES)) {
      const id = stored.get(key);
      const again = await neo.send(dispatching({ task_id: key }, rest));
      if (key !== 'refused' && id !== undefined) assert.equal(again, id, `${key} is not known any more`);
      for (const each of new Set([again, id ?? again])) {
        const { status } = await neo.result(each);
        assert.equal(status, key === 'refused' ? 'blocked' : 'done');
        assert.equal(neo.events(each).filter((type) => TERMINAL_EVENTS.has(type)).length, 1);
        assert.equal(neo.task(each).caller, CALLER.name);
      }
    }
    assert.deepEqual(neo.ledger.unfinished(), []);
  } finally {
    await neo.end();
  }
}

/** Registers a test for each kind of executor, of profiles that die right before or right after a write. */
export function testDispatchCrashes(share: Share): void {
  for (const kind of ['effects', 'free', 'saves'])
    test(`a process that dies before or after any write leaves whole tasks, and none that it acknowledged is lost: ${kind}`, async (t) => {
      const base = tempDir(t);
      /** The folder and the lines of a profile that dies at the moment. */
      async function live(dieAt: number): Promise<{ dir: string; lines: string[] }> {
        const dir = join(base, String(dieAt));
        mkdirSync(dir);
        const args = [dir, String(dieAt), kind, JSON.stringify(DISPATCHES)];
        return { dir, lines: await runLife(CHILD, args, dieAt === 0 ? 'well' : 'killed') };
      }
      await sweepCrashes(t, {
        share,
        atOnce: CONCURRENCY,
        act: live,
        check: ({ dir, lines }) => assertWhole(t, dir, lines, kind),
        async start() {
          if (share === 'one') return upTo(FEWEST_MOMENTS);
          const { lines } = await live(0);
          const [, moments] = lines.find((line) => line.startsWith('moments '))?.split(' ') ?? [];
          assert.ok(Number(moments) >= FEWEST_MOMENTS, `${moments} moments`);
          return upTo(Number(moments));
        },
      });
    });
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { CALLER, dispatching, profile } from './testing/index.ts';

const CHILD = join(import.meta.dirname, 'testing/crash-child.ts');
/** The dispatches by key, each with the fields that differ from the default. */
const DISPATCHES = { first: {}, second: {}, refused: { requirements: { required_mcp: ['nope'] } } };
const CONCURRENCY = 2;
const TIMEOUT_MS = 60_000;

/** Runs a profile's process until it dies; returns its lines as words. */
function live(dir: string, dieAt: number, kind: string): Promise<string[][]> {
  return new Promise((resolve, reject) => {
    mkdirSync(dir, { recursive: true });
    // As a process of its own, not as a part of this test run.
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    execFile(
      process.execPath,
      [CHILD, dir, String(dieAt), kind, JSON.stringify(DISPATCHES)],
      { env, timeout: TIMEOUT_MS },
      (error, stdout) => {
        if (dieAt === 0 && error) reject(error);
        else if (dieAt > 0 && error?.signal !== 'SIGKILL') reject(new Error(`it did not die:\n${stdout}`));
        else resolve(stdout.split('\n').map((line) => line.split(' ')));
      },
    );
  });
}

/** Asserts that a process that died left whole tasks only, and that the next one ends each of them once. */
async function assertWhole(t: TestContext, dir: string, acknowledged: readonly string[][], kind: string) {
  const neo = await profile(t, { dir, fleet: { limits: { max_concurrent_tasks: 2 } } });
  try {
    const stored = new Map<string, string>();
    for (const { id, key } of neo.ledger.list({ pageSize: 100 }).tasks) {
      assert.ok(!stored.has(key), `two tasks of ${key}`);
      stored.set(key, id);
      const decided = key === 'refused' ? 'blocked' : 'queued';
      assert.deepEqual(neo.events(id).slice(0, 2), ['submitted', decided], 'a task is stored in parts');
    }
    for (const [, key = '', id] of acknowledged) assert.equal(stored.get(key), id, `${key} is lost`);
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

for (const kind of ['effects', 'free', 'saves'])
  test(`a process that dies before or after any write leaves whole tasks, and none that it acknowledged is lost: ${kind}`, async (t) => {
    const base = tempDir(t);
    const whole = await live(join(base, 'whole'), 0, kind);
    const moments = Number(whole.find(([word]) => word === 'moments')?.[1]);
    assert.ok(moments >= 12, `${moments} moments`);
    const left = Array.from({ length: moments }, (_, at) => at + 1);
    const worker = async (): Promise<void> => {
      for (let dieAt = left.shift(); dieAt !== undefined; dieAt = left.shift()) {
        const dir = join(base, String(dieAt));
        const lines = await live(dir, dieAt, kind);
        const acknowledged = lines.filter(([word]) => word === 'ack');
        await assertWhole(t, dir, acknowledged, kind).catch((error) => {
          throw new Error(`${kind}, died at ${dieAt}`, { cause: error });
        });
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  });

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { Ledger } from './types.ts';

const step = fc.record({
  context: fc.nat({ max: 2 }),
  /** How often the text is repeated: from a few bytes to several pages of the file. */
  size: fc.constantFrom(1, 3, 40, 150, 900),
  texts: fc.nat({ max: 4 }),
  published: fc.boolean(),
});

/** Everything that a ledger tells about the tasks of a context. */
function seen(ledger: Ledger, contextId: string) {
  return ledger.list({ contextId, pageSize: 100 }).tasks.map((task) => ({
    task,
    events: ledger.events(task.id),
    questions: ledger.questions(task.id),
    tokens: ledger.tokens.entries(task.id),
    checkpoint: ledger.loadCheckpoint(task.id),
    conversation: ledger.earlierConversation(task.id),
  }));
}

const unpublished = (ledger: Ledger) => ledger.outbox.read(ledger.outbox.cursor(), 10_000);
const totals = (ledger: Ledger) => [ledger.figures.totals(), ledger.figures.spentOn('2026-01-01')];
const entry = {
  kind: 'own',
  inputTokens: 7,
  outputTokens: 2,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  source: 'metered',
  model: 'm',
} as const;

test(
  'erasing a context leaves nothing of it, and changes nothing of others, whatever was written',
  deadline,
  async (t) => {
    const { ledger, file } = openTestLedger(t);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.nat({ max: 2 }),
        async (steps, chosen) => {
          run += 1;
          const contexts = [0, 1, 2].map((index) => `run-${run}-${index}`);
          const secretOf = (context: number): string => `secret-of-${contexts[context]}-`;
          for (const { context, size, texts, published } of steps) {
            const text = secretOf(context).repeat(size);
            const task = newTask({
              contextId: contexts[context] ?? '',
              message: { text },
              dispatch: { brief: text },
            });
            const { id } = (await ledger.accept(task)).task;
            for (let nth = 0; nth < texts; nth += 1) {
              await ledger.append(id, { type: 'text', data: { text } });
              await ledger.saveCheckpoint(id, { list: [text, String(nth)], keep_conversation: true }, 'list');
            }
            await ledger.tokens.add(id, entry);
            const counts = [{ counter: 'tasks', labels: ['done'], by: 1 } as const];
            await ledger.append(id, { type: 'done', data: {} }, { result: { text }, counts });
            if (published) await ledger.outbox.advance(unpublished(ledger).at(-1)?.seq ?? 0);
          }
          const secret = secretOf(chosen);
          const [contextId = ''] = contexts.splice(chosen, 1);
          const view = () => [
            contexts.map((each) => seen(ledger, each)),
            unpublished(ledger),
            totals(ledger),
          ];
          const before = view();
          const count = ledger.list({ contextId, pageSize: 1 }).totalSize;
          const request = { contextId, caller: 'switch', results: 'keep' } as const;
          if (count === 0) await assert.rejects(ledger.contexts.delete(request));
          else assert.equal((await ledger.contexts.delete(request)).tasks, count);
          await ledger.contexts.purge();
          assert.deepEqual(view(), before);
          assert.deepEqual(seen(ledger, contextId), []);
          const dir = dirname(file);
          for (const name of readdirSync(dir))
            assert.ok(!readFileSync(join(dir, name)).includes(secret), `${name} has text of ${contextId}`);
        },
      ),
      { numRuns: 60 },
    );
  },
);

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { type Reply, use } from '../../testing/scripted-server.ts';

/** docs/agent.md#the-loop measures at most 200 ms; a loaded machine gets more. */
const GENEROUS_MS = 2000;
const MARK = `3600.${process.pid}1`;

const isRunning = (): boolean =>
  readdirSync('/proc').some((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(`sleep\0${MARK}`);
    } catch {
      return false;
    }
  });

const IN_PROGRESS: Readonly<
  Record<string, { readonly reply: Reply; readonly hasStarted: (event: RunEvent) => boolean }>
> = {
  'a running command': {
    reply: use([['shell_exec', { command: `(setsid sleep ${MARK} &); sleep ${MARK}` }]]),
    hasStarted: (event) => event.type === 'progress' && event.data.phase === 'started',
  },
  'a model that is answering': {
    reply: { hang: true, deltas: [{ content: 'I am thinking about it. ' }] },
    hasStarted: ({ type }) => type === 'text',
  },
};

for (const [what, { reply, hasStarted }] of Object.entries(IN_PROGRESS)) {
  for (const code of ['CANCELED', 'DEADLINE_EXCEEDED'] as const) {
    test(`${code} ends ${what} at once and leaves no process`, async (t) => {
      const run = await scriptedAgent(t, () => reply, {}, { real: true });
      let abortedAt = 0;
      const { result, context } = await run({
        onEvent: async (event, { controller }) => {
          if (!hasStarted(event) || abortedAt !== 0) return;
          abortedAt = -1;
          while (event.type === 'progress' && !isRunning())
            await new Promise((resolve) => setTimeout(resolve, 10));
          abortedAt = performance.now();
          controller.abort(new FleetError(code, 'no more'));
        },
      });
      const tookMs = performance.now() - abortedAt;
      t.diagnostic(`the run ended ${Math.round(tookMs)} ms after the ${code}`);
      assert.ok(abortedAt > 0 && tookMs < GENEROUS_MS, String(tookMs));
      assert.equal(isRunning(), false);
      assert.ok(context.budget.spent() > 0, 'tokens spent before the abort are counted');
      assert.deepEqual([result.status, result.error?.code], ['error', code.toLowerCase()]);
    });
  }
}

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AgentConfigSchema, createAgent, loopExecutor } from '@hermes-fleet/loop';
import { type AdmittedTask, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { countCommits } from '../support/count-commits.ts';
import { ledgerRun, openTestLedger, startTask } from '../support/ledger-run.ts';

const FEW = 5;
const MANY = 15;
/** Reads of one answer that run at the same time. */
const AT_ONCE = 8;

test('every call that changes things waits for the disk, and reads at the same time wait together', async (t) => {
  const dir = tempDir(t);
  const commits = countCommits(t);
  const ledger = openTestLedger(join(dir, 'ledger.db'));
  const stateDir = join(dir, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  const config = AgentConfigSchema.parse({ model: 'offline/runbook' });
  const agent = await createAgent({
    executor: loopExecutor,
    profile: { name: 'neo', tier: 'haiku' },
    config,
    place: { workspaceRoot: join(dir, 'workspace'), stateDir },
    // No timer fires, so that the text of an answer is reported at its end alone.
    runtime: {
      env: { read: () => undefined },
      clock: { ...systemClock, timer: () => ({ [Symbol.dispose]() {} }) },
      ids: systemIds,
    },
    observe: { log: silentLog },
  });
  t.after(async () => {
    await agent.close();
    await ledger.close();
  });

  /** The commits of a task that writes so many files and reads them again, all in one answer. */
  async function commitsOf(calls: number): Promise<number> {
    const brief = Array.from({ length: calls }, (_, n) => `\`\`\`file${n}.txt\n${n}\n\`\`\`\n`).join('\n');
    const task: AdmittedTask = {
      id: randomUUID(),
      contextId: `context-${calls}`,
      deadlineAt: undefined,
      parts: [],
      resumes: 0,
      caller: { name: 'tester', scopes: new Set(['dispatch']) },
      dispatch: {
        type: 'TASK_DISPATCH',
        protocolVersion: '2.0',
        brief,
        task: { taskId: `t-${calls}`, write: true },
      },
    };
    await startTask(ledger, task);
    const { context, events } = ledgerRun(ledger, task, {
      model: config.model,
      limit: undefined,
      signal: new AbortController().signal,
      ask: () => Promise.reject(new Error('nobody answers')),
    });
    const before = commits();
    const { artifacts } = await agent.executor.run(task, context);
    assert.equal(artifacts.filesChanged.length, calls);
    assert.ok(events.filter(({ type }) => type === 'progress').length >= 3 * calls);
    return commits() - before;
  }

  const more = (await commitsOf(MANY)) - (await commitsOf(FEW));
  // Each write is durable before the next one begins. Reads begin together, and their results share a commit.
  const [files, groups] = [MANY - FEW, Math.ceil(MANY / AT_ONCE) - Math.ceil(FEW / AT_ONCE)];
  assert.equal(more, files + groups);
});

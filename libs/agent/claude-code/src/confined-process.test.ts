import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { Workspace } from '@hermes-fleet/workspace';
import { confinedProcess } from './confined-process.ts';

test('the process is in the control group of its line, and names the limit that the kernel ended it for', async (t) => {
  const steps: string[] = [];
  const group = () => {
    steps.push('made');
    return {
      endedFor: () => 'its processes needed more than 64 MiB',
      [Symbol.dispose]: () => void steps.push('removed'),
    };
  };
  const line = { command: '/bin/sh', args: ['-c', 'kill -9 $$'], group };
  const workspace: Pick<Workspace, 'dir' | 'wrap'> = { dir: tempDir(t), wrap: () => line };
  const running = confinedProcess({ workspace, env: {} });
  running.spawn({ command: 'claude', args: [] });
  await running.gone();
  assert.deepEqual(steps, ['made', 'removed']);
  assert.match(running.failure()?.message ?? '', /^Claude Code was ended: its processes needed more than/);
});

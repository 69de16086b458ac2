import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { scriptedAgent } from '../../../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../../../testing/scripted-server.ts';
import { kindOf } from './call-kinds.ts';

const Output = z.record(z.string(), z.json());
const outputs = ({ messages }: ChatRequest) =>
  messages.flatMap(({ role, content }) =>
    role === 'tool' ? [Output.parse(JSON.parse(String(content)))] : [],
  );

test('a look at a process waits while it runs, and no more when it has ended', {
  timeout: 180_000,
}, async (t) => {
  const id = (request: ChatRequest) => ({ id: outputs(request)[0]?.id });
  const steps: ((request: ChatRequest) => Reply)[] = [
    () => use([['shell_start', { command: 'exec sleep 100000' }]]),
    (request) => use([['shell_output', id(request)]]),
    (request) => use([['shell_stop', id(request)]]),
    (request) => use([['shell_output', id(request)]]),
  ];
  const run = await scriptedAgent(
    t,
    (_, request) => steps[outputs(request).length]?.(request) ?? say('Done.'),
  );
  const { requests } = await run();
  const [, running, , ended] = outputs(requests.at(-1) ?? assert.fail());
  const call = { tool: 'shell_output', input: {}, mutates: false, key: '0' };
  const waits = (output = {}) => kindOf(call, { ok: true, output }, false).waits;
  assert.deepEqual([waits(running), waits(ended)], [true, false], JSON.stringify([running, ended]));
});

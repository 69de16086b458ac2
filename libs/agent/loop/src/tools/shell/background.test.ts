import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { processesWith } from '../../../testing/conformance.ts';
import { block, makeAgent } from '../../../testing/harness.ts';
import { scriptedAgent } from '../../../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../../../testing/scripted-server.ts';
import { loopExecutor } from '../../executor/loop-executor.ts';
import type { ExecutorProvider } from '../../run/executor-provider.ts';

const deadline = { timeout: 180_000 };
const results = ({ messages }: ChatRequest): string[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));

/** A text that only the processes of one test have in their command line. */
let count = 0;
function marker(): string {
  count += 1;
  return `mark-${process.pid}-${count}`;
}

/** Prints, waits for a line in the fifo `go`, and prints it. */
const SERVER = 'echo ready; read -r line < .scratch/go; echo "got $line"; echo oops >&2; exit 3';
const PREPARE = 'mkdir -p .scratch && mkfifo -m 666 .scratch/go';

type Step = (request: ChatRequest) => Reply;
const scripted = (t: TestContext, steps: readonly Step[], confine: 'auto' | 'unconfined' = 'auto') =>
  scriptedAgent(
    t,
    (_, request) => {
      const done = request.messages.filter(({ role }) => role === 'assistant').length;
      return steps[done]?.(request) ?? say('Done.');
    },
    { tools: { shell: { confine } } },
  );
const call =
  (...calls: [string, object][]): Step =>
  () =>
    use(calls);
/** The id of the process that the last answer to `shell_start` names. */
const idIn = (request: ChatRequest): string =>
  /"id":"(p[^"]+)"/.exec(results(request).findLast((text) => text.includes('"id"')) ?? '')?.[1] ??
  assert.fail();

test('a process runs on between calls, and its output is shown once', deadline, async (t) => {
  const mark = marker();
  const steps = [
    call(['shell_exec', { command: PREPARE }]),
    call(['shell_start', { command: `: ${mark}; ${SERVER}` }]),
    (request: ChatRequest) => use([['shell_output', { id: idIn(request) }]]),
    call(['shell_exec', { command: 'echo hello > .scratch/go' }]),
    (request: ChatRequest) => use([['shell_output', { id: idIn(request), wait_s: 60 }]]),
    (request: ChatRequest) => use([['shell_stop', { id: idIn(request) }]]),
  ];
  const run = await scripted(t, steps);
  const { result, requests } = await run();
  assert.equal(result.status, 'done', JSON.stringify(result));
  const told = results(requests.at(-1) ?? assert.fail());
  assert.match(told[1] ?? '', /"state":"running","output":"ready\\n"/);
  assert.match(told[2] ?? '', /"state":"running","output":""/);
  const [, , , , later = '', stopped = ''] = told;
  assert.match(later + stopped, /got hello\\n[\s\S]*oops/);
  assert.match(stopped, /"state":"ended","exited_with":(3|null)/);
  assert.deepEqual(
    result.evidence?.map(({ kind, detail }) => [kind, detail]),
    [
      ['command', PREPARE],
      ['command', 'echo hello > .scratch/go'],
    ],
    'it is no evidence of a check',
  );
  assert.deepEqual(processesWith(mark), []);
});

test('all processes end with the task, and with its abort', deadline, async (t) => {
  for (const [index, aborts] of [false, true].entries()) {
    const mark = marker();
    const detached = `(setsid sh -c 'echo up; sleep 100000; :' ${mark} &); exec sh -c 'sleep 100000; :' ${mark}`;
    let ran: string[] = [];
    const steps = [
      call(['shell_start', { command: detached }]),
      () => {
        ran = processesWith(mark);
        return aborts ? { hang: true as const, deltas: [{ content: 'thinking' }] } : say('Done.');
      },
    ];
    // Unconfined, no end of a user's processes hides what is left.
    const run = await scripted(t, steps, 'unconfined');
    const reason = new FleetError('CANCELED', 'canceled');
    const { result } = await run({
      contextId: `end-${index}`,
      onEvent: (event, context) => event.type === 'text' && aborts && context.controller.abort(reason),
    });
    assert.equal(result.status, aborts ? 'partial' : 'done', JSON.stringify(result));
    assert.ok(ran.length >= 2, String(ran));
    assert.deepEqual(processesWith(mark), []);
  }
});

test('at most four run at a time, and a stopped one makes room', deadline, async (t) => {
  const start = (name: string): [string, object] => [
    'shell_start',
    { command: `echo ${name}; exec sleep 100000` },
  ];
  const first = (request: ChatRequest): string | undefined =>
    /"id":"(p[^"]+)"/.exec(results(request)[0] ?? '')?.[1];
  const steps = [
    call(start('a'), start('b'), start('c'), start('d'), start('e')),
    (request: ChatRequest) => use([['shell_stop', { id: first(request) }]]),
    call(start('f')),
    call(['shell_stop', { id: 'p9.9' }]),
  ];
  const run = await scripted(t, steps);
  const { requests } = await run();
  const told = results(requests.at(-1) ?? assert.fail());
  assert.match(told[4] ?? '', /^4 processes run already/);
  assert.match(told[5] ?? '', /"state":"ended","exited_with":null/);
  assert.match(told[6] ?? '', /"state":"running"/);
  assert.match(told[7] ?? '', /^there is no process p9\.9: .*with a restart of the gateway.*Running: p/);
});

test('long output is cut to its end', deadline, async (t) => {
  const print = "head -c 400000 /dev/zero | tr '\\0' x; echo end";
  const steps = [
    call(['shell_exec', { command: PREPARE }]),
    call(['shell_start', { command: `${print}; echo printed > .scratch/go; exec sleep 100000` }]),
    call(['shell_exec', { command: 'cat .scratch/go' }]),
    (request: ChatRequest) => use([['shell_output', { id: idIn(request) }]]),
  ];
  const run = await scripted(t, steps);
  const { requests } = await run();
  const told = results(requests.at(-1) ?? assert.fail());
  const seen = told.join('');
  assert.ok(/x{1000}end\\n/.test(seen), seen.slice(-200));
  assert.match(seen, /"left_out":"\d+ bytes before/);
  assert.ok(seen.length < 40_000, String(seen.length));
});

test('after a restart, a look at a lost process says so', deadline, async (t) => {
  const steps = [
    call(['shell_start', { command: 'echo up; exec sleep 100000' }]),
    (request: ChatRequest) => use([['shell_output', { id: idIn(request) }]]),
  ];
  const run = await scripted(t, steps);
  let checkpoint: JsonObject | undefined;
  const killed = new FleetError('SHUTTING_DOWN', 'killed');
  const crashed = run({
    contextId: 'lost',
    onSave: (_, context) => {
      checkpoint = context.checkpoints.at(-1);
      if (JSON.stringify(checkpoint).includes('running')) context.controller.abort(killed);
    },
  });
  await assert.rejects(crashed, killed);
  const { requests } = await run({ contextId: 'lost', checkpoint: checkpoint ?? assert.fail() });
  assert.match(
    results(requests.at(-1) ?? assert.fail())[1] ?? '',
    /there is no process p1\.0.*Running: none/,
  );
});

test('the next start ends the processes of a killed gateway', deadline, async (t) => {
  const mark = marker();
  const place = makePlace(t);
  const at = (path: string): string => pathToFileURL(join(import.meta.dirname, '../..', path)).href;
  const brief = [
    block('tool shell_start', JSON.stringify({ command: `exec sh -c 'sleep 100000; :' ${mark}` })),
    block('sh', 'exec sleep 100000'),
  ].join('\n');
  const source = `
    import { makeContext, makeTask } from '${at('../testing/harness.ts')}';
    import { createAgent } from '${at('agent.ts')}';
    import { AgentConfigSchema } from '${at('config/config-yaml.ts')}';
    import { loopExecutor } from '${at('executor/loop-executor.ts')}';
    import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
    import { silentLog } from '@hermes-fleet/protocol/testing';
    const agent = await createAgent({
      config: AgentConfigSchema.parse({}), executor: loopExecutor,
      profile: { name: 'neo', tier: 'haiku' }, place: ${JSON.stringify(place)}, observe: { log: silentLog },
      runtime: { env: { read: () => undefined }, clock: systemClock, ids: systemIds },
    });
    const onEvent = ({ type, data }) =>
      type === 'progress' && data.tool === 'shell_exec' && process.stdout.write('running');
    await agent.executor.run(makeTask(${JSON.stringify(brief)}), makeContext({ onEvent }));`;
  const gateway = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => gateway.kill('SIGKILL'));
  await once(gateway.stdout, 'data');
  const left = processesWith(mark).filter((pid) => pid !== String(gateway.pid));
  assert.ok(left.length > 0);
  gateway.kill('SIGKILL');
  await once(gateway, 'exit');
  await makeAgent(t, {}, { place });
  assert.deepEqual(processesWith(mark), []);
  for (const pid of left)
    if (existsSync(`/proc/${pid}/stat`)) assert.match(readFileSync(`/proc/${pid}/stat`, 'utf8'), /\) Z /);
});

test('an executor that waits for each command has no background processes', async (t) => {
  const executor: ExecutorProvider = {
    ...loopExecutor,
    createLead: async (config, runtime) => ({
      ...(await loopExecutor.createLead(config, runtime)),
      hasBackground: false,
    }),
  };
  const { tools } = (await makeAgent(t, {}, { executor })).capabilities();
  assert.deepEqual(
    tools.filter((name) => name.startsWith('shell_')),
    ['shell_exec'],
  );
});

test('a profile without commands has no background processes', async (t) => {
  const off = await makeAgent(t, { tools: { shell: { enabled: false } } });
  assert.deepEqual(
    off.capabilities().tools.filter((name) => name.startsWith('shell_')),
    [],
  );
});

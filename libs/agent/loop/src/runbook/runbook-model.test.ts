import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block } from '../../testing/harness.ts';
import { decide } from './decide.ts';
import { parseRunbook } from './parse-runbook.ts';
import type { PastCall } from './report.ts';
import { createRunbookModel } from './runbook-model.ts';

const TOOLS = new Set(['shell_exec', 'write_file', 'read_file']);

test('the title of a block decides its action', () => {
  const brief = [
    'prose `sh` inline',
    block('sh', 'echo 1\necho 2'),
    block('ts src/a.ts', 'export {};'),
    block('README.md', '# Hi'),
    block('sh scripts/run.sh', 'true'),
    block('ts', 'ignored'),
    block('', 'ignored'),
    block('sh', '   '),
    '~~~~bash\n```\nnested\n```\n~~~~',
    '````md doc.md\n```sh\nnot run\n```\n````',
  ].join('\n\n');
  const run = (command: string) => ({ tool: 'shell_exec', input: { command } });
  const write = (path: string, content: string) => ({ tool: 'write_file', input: { path, content } });
  assert.deepEqual(parseRunbook(brief), {
    actions: [
      run('echo 1\necho 2'),
      write('src/a.ts', 'export {};\n'),
      write('README.md', '# Hi\n'),
      write('scripts/run.sh', 'true\n'),
      run('```\nnested\n```'),
      write('doc.md', '```sh\nnot run\n```\n'),
    ],
    problems: [],
  });
});

test('a tool block becomes a call, and an addressed paragraph is sent to the peer', () => {
  const brief = [
    'Ask @neo: not at the start of a line.',
    '@neo: Write the tests.',
    '@agent-smith-2:',
    'Look for the exit.',
    '',
    'No longer his.',
    block('tool memory_read', '{"name": "exits"}'),
    '@trinity: Fly',
    '```tool fleet_peers',
    '```',
    'prose behind a block',
    '@neo:',
    '',
    '@no body: here',
    block('tool', '{}'),
    block('tool two words', '{}'),
    block('text', '@neo: inside a block'),
  ].join('\n');
  const send = (agent: string, text: string) => ({ tool: 'fleet_send', input: { agent, brief: text } });
  assert.deepEqual(parseRunbook(brief), {
    actions: [
      send('neo', 'Write the tests.'),
      send('agent-smith-2', 'Look for the exit.'),
      { tool: 'memory_read', input: { name: 'exits' } },
      send('trinity', 'Fly'),
      { tool: 'fleet_peers', input: {} },
    ],
    problems: [],
  });
});

test('an invalid tool block is reported, and nothing runs', () => {
  const deep = `{"a": ${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
  for (const content of ['{"a": 1', '[1]', '"text"', 'x', '{"a": 1e999}', deep]) {
    const brief = block('sh', 'touch never') + block('tool memory_read', content);
    const decision = decide({ brief, past: [], tools: new Set([...TOOLS, 'memory_read']), json: false });
    assert.match(
      decision.kind === 'finish' ? decision.text : '',
      /`tool memory_read` does not hold a JSON object/,
    );
  }
});

test('every line of a brief is parsed in linear time', { timeout: 20_000 }, () => {
  const long = 500_000;
  for (const line of [
    `\`\`\`${' '.repeat(long)}\``,
    `${'~'.repeat(long)}\``,
    `${'`'.repeat(long)}x\``,
    `@${'a'.repeat(long)}`,
  ]) {
    assert.deepEqual(parseRunbook(line).actions, []);
  }
});

const BRIEF = block('a.txt', 'a') + block('b.txt', 'b') + block('sh', 'make') + block('c.txt', 'c');
const past = (tool: string, input: PastCall['input'], outcome: PastCall['outcome'] = 'ok'): PastCall => ({
  tool,
  input,
  outcome,
  output: tool === 'shell_exec' ? { exit_code: outcome === 'ok' ? 0 : 2 } : 'result',
});
const next = (calls: PastCall[]): string => {
  const decision = decide({ brief: BRIEF, past: calls, tools: TOOLS, json: false });
  if (decision.kind === 'finish') return decision.text;
  return decision.calls.map(({ tool, input }) => `${tool} ${input.path ?? input.command}`).join(', ');
};

test('the next step follows from the brief and the conversation alone', () => {
  const a = past('write_file', { path: 'a.txt' });
  const b = past('write_file', { path: 'b.txt' });
  const make = past('shell_exec', { command: 'make' });
  const c = past('write_file', { path: 'c.txt' });
  const read = ['a.txt', 'b.txt', 'c.txt'].map((path) => past('read_file', { path }));
  assert.equal(next([]), 'write_file a.txt, write_file b.txt');
  assert.equal(next([a]), 'write_file b.txt');
  assert.equal(next([a, b]), 'shell_exec make');
  assert.equal(next([a, b, make]), 'write_file c.txt, read_file a.txt, read_file b.txt, read_file c.txt');
  assert.equal(next([a, b, make, c]), 'read_file a.txt, read_file b.txt, read_file c.txt');
  assert.equal(next([a, b, make, c, ...read.slice(0, 2)]), 'read_file c.txt');
  assert.match(next([a, b, make, c, ...read]), /^Done.*\n- wrote a\.txt\n.*\n- ran `make`: exit code 0/);
});

test('a write with an unknown outcome is repeated, a command is not', () => {
  const unknown = past('write_file', { path: 'a.txt' }, 'unknown');
  assert.equal(next([unknown]), 'write_file a.txt, write_file b.txt');
  const a = past('write_file', { path: 'a.txt' });
  const b = past('write_file', { path: 'b.txt' });
  const stopped = next([a, b, past('shell_exec', { command: 'make' }, 'unknown')]);
  assert.match(stopped, /outcome unknown/);
  assert.match(stopped, /"status":"partial","remaining":\["run: make","write: c.txt"\]/);
});

test('a failure ends the run, with status error when it is the first action', () => {
  const failed = next([past('write_file', { path: 'a.txt' }, 'failed')]);
  assert.match(failed, /"status":"error"/);
  const a = past('write_file', { path: 'a.txt' });
  const b = past('write_file', { path: 'b.txt' });
  const later = next([a, b, past('shell_exec', { command: 'make' }, 'failed')]);
  assert.match(later, /exit code 2/);
  assert.match(later, /"status":"partial"/);
});

const MIXED = [
  block('a.txt', 'a'),
  block('tool progress_update', '{"accomplished": ["a"]}'),
  '@neo: Look at it.',
  block('sh', 'make'),
].join('\n');
const ALL = new Set([...TOOLS, 'progress_update', 'fleet_send']);
const wroteA = past('write_file', { path: 'a.txt' });
const updated = past('progress_update', { accomplished: ['a'] });
const sent = past('fleet_send', { agent: 'neo', brief: 'Look at it.' });
const mixed = (calls: PastCall[], options: { tools?: ReadonlySet<string>; json?: boolean } = {}) =>
  decide({ brief: MIXED, past: calls, tools: ALL, json: false, ...options });
const textOf = (calls: PastCall[], options?: Parameters<typeof mixed>[1]): string => {
  const decision = mixed(calls, options);
  return decision.kind === 'finish' ? decision.text : assert.fail(JSON.stringify(decision));
};

test('tool calls and briefs for peers run in order with the other actions', () => {
  const callsAfter = (calls: PastCall[]) => {
    const decision = mixed(calls);
    return decision.kind === 'call' ? decision.calls : assert.fail(decision.text);
  };
  assert.deepEqual(callsAfter([]), [{ tool: 'write_file', input: { path: 'a.txt', content: 'a\n' } }]);
  assert.deepEqual(callsAfter([wroteA]), [{ tool: 'progress_update', input: { accomplished: ['a'] } }]);
  assert.deepEqual(callsAfter([wroteA, updated]), [
    { tool: 'fleet_send', input: { agent: 'neo', brief: 'Look at it.' } },
  ]);
  assert.deepEqual(callsAfter([wroteA, updated, sent]), [
    { tool: 'shell_exec', input: { command: 'make' } },
    { tool: 'read_file', input: { path: 'a.txt' } },
  ]);
});

test('the outcome of each call is summarized, in prose and as JSON', () => {
  const calls = [
    wroteA,
    updated,
    sent,
    past('shell_exec', { command: 'make' }),
    past('read_file', { path: 'a.txt' }),
  ];
  const text = textOf(calls);
  assert.match(
    text,
    /\n- called progress_update: ok\n {6}result\n- sent to neo: ok\n {6}result\n- ran `make`/,
  );
  assert.deepEqual(JSON.parse(textOf(calls, { json: true })), {
    ran: [{ command: 'make', result: 'exit code 0' }],
    wrote: ['a.txt'],
    called: [
      { tool: 'progress_update', input: { accomplished: ['a'] }, outcome: 'ok', result: 'result' },
      { tool: 'fleet_send', input: { agent: 'neo', brief: 'Look at it.' }, outcome: 'ok', result: 'result' },
    ],
  });
});

test('a failed or uncertain tool call stops the run, with the remaining actions', () => {
  const failed = textOf([wroteA, past('progress_update', {}, 'failed')]);
  assert.match(failed, /Stopped at a failure:\n- wrote a\.txt\n- called progress_update: failed/);
  assert.match(
    failed,
    /"remaining":\["call progress_update: \{\\"accomplished\\":\[\\"a\\"\]\}","send to neo: Look at it\.","run: make"\]/,
  );
  const unknown = textOf([wroteA, updated, past('fleet_send', {}, 'unknown')]);
  assert.match(unknown, /fleet_send: outcome unknown/);
  assert.match(unknown, /"status":"partial"/);
});

test('missing tools are reported before anything runs', () => {
  const text = textOf([], { tools: TOOLS });
  assert.match(text, /^This brief needs progress_update and fleet_send, not available here\./);
  assert.match(text, /"status":"partial"/);
});

test('calls that a restart prevented are made again', () => {
  const a = past('write_file', { path: 'a.txt' }, 'unknown');
  const b = past('write_file', { path: 'b.txt' }, 'not_run');
  assert.equal(next([a, b]), 'write_file a.txt, write_file b.txt');
  assert.equal(
    next([a, b, past('write_file', { path: 'a.txt' }), past('write_file', { path: 'b.txt' })]),
    'shell_exec make',
  );
});

test('a failed read ends the run when the brief asks for it', () => {
  const brief = block('a.txt', 'a') + block('tool read_file', '{"path": "b.txt"}') + block('sh', 'make');
  const calls = [wroteA, past('read_file', { path: 'b.txt' }, 'failed')];
  const decision = decide({ brief, past: calls, tools: TOOLS, json: false });
  assert.match(decision.kind === 'finish' ? decision.text : '', /Stopped at a failure/);
});

test('the summary shows the beginning of a long output, and the end of a failed one', () => {
  const brief = block('sh', 'make');
  const output = { stdout: `first\n${'x\n'.repeat(1000)}last`, exit_code: 0 };
  const ending = (call: PastCall): string => {
    const decision = decide({ brief, past: [call], tools: TOOLS, json: false });
    return decision.kind === 'finish' ? decision.text : assert.fail();
  };
  const ran = { tool: 'shell_exec', input: { command: 'make' } };
  const good = ending({ ...ran, outcome: 'ok', output });
  assert.deepEqual([/ first\n/.test(good), /last/.test(good)], [true, false]);
  const bad = ending({ ...ran, outcome: 'failed', output: { ...output, exit_code: 2 } });
  assert.deepEqual([/ first\n/.test(bad), / last\n/.test(bad)], [false, true]);
});

test('a successful call with an incomplete result of a peer or sub-agent is a failure', async () => {
  const brief = block('tool fleet_send', '{"agent": "neo", "brief": "x"}');
  const ended = async (tool: string, status: string): Promise<string> => {
    const call = { toolCallId: 'c1', toolName: tool };
    const output = { type: 'json' as const, value: { status, remaining: ['x'] } };
    const { content } = await createRunbookModel().doGenerate({
      prompt: [
        {
          role: 'user',
          content: [{ type: 'text', text: `<task>\n${brief.replace('fleet_send', tool)}\n</task>` }],
        },
        { role: 'assistant', content: [{ type: 'tool-call', ...call, input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', ...call, output }] },
      ],
      tools: [{ type: 'function', name: tool, inputSchema: {} }],
    });
    return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  };
  for (const [tool, done, short] of [
    ['fleet_send', 'done', 'partial'],
    ['delegate', 'finished', 'partial'],
  ] as const) {
    assert.match(await ended(tool, done), /^Done, as the brief says/);
    assert.match(await ended(tool, short), /^Stopped at a failure[\s\S]*"status":"(partial|error)"/);
  }
  assert.match(await ended('memory_read', 'partial'), /^Done/);
});

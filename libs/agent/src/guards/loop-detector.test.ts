import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GuardState } from '../run/guard-state.ts';
import type { Guards } from '../run/guards.ts';
import { type Act, edit, fails, guarded, look, shell } from '../testing/guarded.ts';

const times = (count: number, act: (at: number) => Act): Act[] =>
  Array.from({ length: count }, (_, at) => act(at));
const edits = (count: number, path = 'a.ts'): Act[] =>
  times(count, (at) => ({ ...edit(path), call: { tool: 'edit_file', input: { path, at }, mutates: true } }));
const inTurn = (count: number): Act[] =>
  times(count, (at) => edits(at + 1, at % 2 === 0 ? 'a.ts' : 'b.ts')[at] ?? edit('a.ts'));

test('edits of one file: a warning at 3, a stronger one at 6, a stop at 12', async () => {
  const { after, fired, guards } = guarded();
  assert.deepEqual(await after(...edits(2)), []);
  assert.deepEqual(await after(...edits(1)), [
    "You've edited a.ts 3 times. Consider stepping back: is your approach correct, or should you try a fundamentally different solution?",
  ]);
  assert.deepEqual(await after(...edits(2)), []);
  assert.match(
    (await after(...edits(1))).join(),
    /^You've edited a\.ts 6 times, and no check .* At 12 edits/,
  );
  // The eighth edit also reaches the limit for all files.
  assert.match((await after(...edits(5))).join(), /^You've edited the same files \(a\.ts\) 8 times/);
  assert.equal(guards.before({ tool: 'x', input: {}, key: '1', mutates: false }).kind, 'allow');
  assert.deepEqual(await after(...edits(1)), ['stop: a.ts was edited 12 times, and no check passed']);
  assert.deepEqual(fired, ['loop warn', 'loop harder', 'loop warn', 'loop stop']);
  assert.equal(guards.before({ tool: 'x', input: {}, key: '1', mutates: false }).kind, 'stop');
});

test('all limits scale with the threshold', async () => {
  const { after, fired } = guarded({ loopDetectionThreshold: 6 });
  assert.deepEqual(await after(...edits(5)), []);
  assert.match((await after(...edits(1))).join(), /edited a\.ts 6 times/);
  await after(...edits(17));
  assert.ok(!fired.includes('loop stop'));
  await after(...edits(1));
  assert.equal(fired.at(-1), 'loop stop');
});

test('two spellings of a path count as one file', async () => {
  const { after } = guarded();
  assert.equal(
    (await after(edit('./a.ts', 'a.ts'), edit('a.ts'), edit('x/../a.ts', 'a.ts'))).length,
    2,
    'edits, and equal calls',
  );
  const calls = guarded();
  assert.equal((await calls.after(look('a'), look('./a'), look('x/../a'))).length, 1);
});

test('editing another file or running a verification resets a file’s count', async () => {
  for (const [what, between] of Object.entries({
    'another file': edit('b.ts'),
    'a look': look('a.ts'),
    'a check that fails': shell('npm test', 1, 'no'),
  })) {
    const { after } = guarded();
    const [first, second, third, fourth] = edits(4);
    assert.ok(first && second && third && fourth);
    assert.deepEqual(await after(first, second, between, third, fourth), [], what);
  }
});

test('alternating edits of two files: a warning at 8, a stop at 16', async () => {
  const { after, fired } = guarded();
  const acts = inTurn(16);
  assert.deepEqual(await after(...acts.slice(0, 7)), []);
  assert.match(
    (await after(...acts.slice(7, 8))).join(),
    /^You've edited the same files \(a\.ts, b\.ts\) 8 times/,
  );
  assert.deepEqual(await after(...acts.slice(8, 15)), []);
  assert.deepEqual(await after(...acts.slice(15)), [
    'stop: the same files (a.ts, b.ts) were edited 16 times, and no check passed',
  ]);
  assert.deepEqual(fired, ['loop warn', 'loop stop']);
});

test('writing many files once is not a loop', async () => {
  const { after } = guarded();
  assert.deepEqual(await after(...times(100, (at) => edit(`src/${at}.ts`))), []);
});

test('a passing check resets all counts; one that fails, hides its exit code or runs no test does not', async () => {
  for (const [act, told] of [
    [shell('npm test'), 0],
    [shell('tsc && echo ok'), 0],
    [shell('npm test || true'), 1],
    [shell('npm test', 0, 'no tests found'), 1],
    [shell('echo ok'), 1],
    [shell('npm test', 1, 'failed'), 1],
  ] as const) {
    const { after } = guarded();
    await after(...inTurn(7), act);
    assert.equal((await after(edit('a.ts'))).length, told, JSON.stringify(act));
  }
});

test('reading prose again resets its count, but not the count of code', async () => {
  const { after } = guarded();
  for (let round = 0; round < 20; round += 1)
    assert.deepEqual(await after(...edits(round + 1, 'a.md').slice(-1), look('a.md', round)), []);
  await after(...inTurn(7), edit('c.md'), look('c.md'));
  assert.equal((await after(edit('a.ts'))).length, 1);
});

test('identical calls: a warning at 3, a stop at 5', async () => {
  const { after, fired } = guarded();
  const acts = times(5, () => look('a'));
  assert.deepEqual(await after(...acts.slice(0, 2)), []);
  assert.match((await after(look('a'))).join(), /^You've called read_file 3 times with the same input\./);
  assert.deepEqual(await after(look('a')), []);
  assert.deepEqual(await after(look('a')), ['stop: read_file was called 5 times with the same input']);
  assert.deepEqual(fired, ['loop warn', 'loop stop']);
});

test('a new answer, an edit, a pause or a passing check ends a repetition', async () => {
  const { after } = guarded();
  assert.deepEqual(await after(...times(20, (at) => look('a', `version ${at}`))), []);
  assert.deepEqual(await after(...times(20, (at) => (at % 2 === 0 ? look('a') : edit(`${at}.md`)))), []);
  assert.deepEqual(await after(...times(20, (at) => (at % 2 === 0 ? look('b') : shell('sleep 1')))), []);
  assert.deepEqual(await after(...times(20, () => shell('npm test'))), []);
  assert.deepEqual(await after(...times(20, () => shell('sleep 30 && gh run view'))), [], 'it polls');
  assert.equal((await after(...times(3, () => shell('git status')))).length, 1);
  const quick = guarded();
  assert.match(
    (await quick.after(...times(5, () => shell('sleep 0; ls')))).join(),
    /stop: shell_exec was called 5/,
  );
});

test('identical calls are recognized despite key order and whitespace in commands', async () => {
  const { after } = guarded();
  const call = (input: object): Act => ({
    ...shell('ls'),
    call: { tool: 'shell_exec', input, mutates: true },
  });
  const acts = [
    call({ command: 'ls  -l', timeout_s: 5 }),
    call({ timeout_s: 5, command: ' ls -l\n' }),
    call({ command: 'ls -l', timeout_s: 5 }),
  ];
  assert.match((await after(...acts)).join(), /^You've called shell_exec 3 times with the same input/);
});

test('identical errors: a warning at 3, a stop at 5, unless a check passes in between', async () => {
  const { after } = guarded();
  const failing = (at: number): Act =>
    shell('npm test', 1, `AssertionError: 1 !== 2\nduration_ms ${at}.${at}\nran in ${at}0 ms`);
  const told = await after(...times(4, (at) => failing(at)), ...edits(1));
  assert.match(told.join(), /^shell_exec has failed 3 times with the same error\./);
  assert.deepEqual(await after(failing(9)), ['stop: shell_exec failed 5 times with the same error']);
  const cleared = guarded();
  await cleared.after(...times(4, failing), shell('npm test'));
  assert.deepEqual(await cleared.after(...times(2, failing)), []);
});

test('different errors, or errors about different targets, are not a repetition', async () => {
  const { after } = guarded();
  assert.deepEqual(await after(...times(20, (at) => shell('npm test', 1, `${at} tests failed`))), []);
  assert.deepEqual(
    await after(...times(20, (at) => fails('web_fetch', { url: `http://${at}` }, 'it answered 404'))),
    [],
  );
  assert.deepEqual(await after(...times(20, (at) => shell(`test -e ${at}`, 1))), []);
  const edits = times(3, (at) =>
    fails('edit_file', { path: 'a', old_text: `${at}` }, 'old_text does not occur'),
  );
  assert.equal((await after(...edits)).length, 1, 'the same file is the same thing');
});

test('with loop detection off, there are no warnings', async () => {
  const { after, fired } = guarded({ loopDetection: false });
  assert.deepEqual(await after(...edits(50), ...inTurn(50), ...times(50, () => look('a'))), []);
  assert.deepEqual(fired, []);
});

const anyAct: fc.Arbitrary<Act> = fc.oneof(
  fc.constantFrom('a.ts', 'b.ts', 'c.md').map((path) => edit(path)),
  fc.constantFrom('a.ts', 'c.md', 'd.txt').map((path) => look(path)),
  fc.constantFrom('npm test', 'ls', 'npm test | tail', 'sleep 1', 'echo x > a.ts').map((line) => shell(line)),
  fc.constantFrom('npm test', 'make').map((line) => shell(line, 1, 'it failed')),
  fc.constantFrom('a', 'b').map((path) => fails('edit_file', { path }, 'old_text does not occur')),
);

test('a restart changes no decision, and every run without a passing check ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { maxLength: 60 }), fc.nat(60), async (acts, at) => {
      const whole = guarded();
      const told: string[] = [];
      const parts: string[] = [];
      let part = guarded();
      for (const [index, act] of acts.entries()) {
        if (index === at) {
          const state = GuardState.parse(JSON.parse(JSON.stringify(part.guards.state())));
          part = guarded({}, { journal: JSON.parse(JSON.stringify(part.journal)) }, state);
        }
        told.push(...(await whole.after(act)));
        parts.push(...(await part.after(act)));
      }
      assert.deepEqual(parts, told);
      const stored = (guards: Guards) => JSON.parse(JSON.stringify(guards.state()));
      assert.deepEqual(stored(part.guards), stored(whole.guards));
      const end = { priority: 'high', reply: 'prose', nudges: 0 } as const;
      assert.equal(part.guards.completionPrompt(end), whole.guards.completionPrompt(end));
    }),
    { numRuns: 200 },
  );
});

test('every run without a passing check or a verifying read ends, and its state stays small', async () => {
  const idle = fc.oneof(
    fc.constantFrom('a.ts', 'b.ts', 'c.ts').map((path) => edit(path)),
    fc.constantFrom('a.ts', 'b.ts').map((path) => look(path)),
    fc.constantFrom('npm test', 'make').map((line) => shell(line, 1, 'it failed')),
    fc.constantFrom('ls', 'npm test | tail').map((line) => shell(line)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(idle, { minLength: 120, maxLength: 120 }), async (acts) => {
      const { after, guards, fired } = guarded();
      await after(...acts);
      assert.ok(guards.state().stop !== undefined);
      assert.ok(fired.length < 30, String(fired.length));
    }),
    { numRuns: 50 },
  );
  const { after, guards } = guarded();
  await after(
    ...times(2000, (at) => edit(`${'long/'.repeat(100)}${at}.ts`)),
    ...times(2000, (at) => look(`${at}`)),
  );
  assert.ok(JSON.stringify(guards.state()).length < 200_000);
});

test('a passing check leaves no counts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { maxLength: 40 }), async (acts) => {
      const { after, guards } = guarded();
      await after(...acts, shell('npm test', 0, '3 passed'));
      const { streak, ...counts } = guards.state().loop;
      assert.deepEqual([streak, counts], [undefined, { edits: [], calls: [], errors: [], warned: [] }]);
    }),
    { numRuns: 100 },
  );
});

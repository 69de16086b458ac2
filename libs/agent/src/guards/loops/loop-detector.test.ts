import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edits, inTurn, replaces, rewrites, stops, times } from '../../testing/acts.ts';
import { edit, guarded, look, shell } from '../../testing/guarded.ts';

test('edits of one file: a warning at 3, a stronger one at 6, and no stop while they lead on', async () => {
  const { after, fired, guards } = guarded();
  const acts = edits(40);
  assert.deepEqual(await after(...acts.slice(0, 2)), []);
  assert.deepEqual(await after(...acts.slice(2, 3)), [
    "You've edited a.ts 3 times. Consider stepping back: is your approach correct, or should you try a fundamentally different solution?",
  ]);
  assert.deepEqual(await after(...acts.slice(3, 5)), []);
  assert.match(
    (await after(...acts.slice(5, 6))).join(),
    /^You've edited a\.ts 6 times, and no check .* A run that goes on in circles is ended\.$/,
  );
  assert.deepEqual(await after(...acts.slice(6)), []);
  assert.deepEqual(fired, ['loop warn', 'loop harder']);
  assert.equal(guards.before({ tool: 'x', input: {}, key: '1', mutates: false }).kind, 'allow');
});

test('rewriting one place again and again ends the run', async () => {
  const { after, fired, guards } = guarded();
  const told = await after(...rewrites(8));
  assert.match(
    told.join('\n'),
    /You've edited the same files \(a\.ts\) 5 times since a check passed, and the edits restore/,
  );
  assert.deepEqual(stops(told), ['stop: the same files (a.ts) were edited in circles, and no check passed']);
  assert.deepEqual(fired, ['loop warn', 'loop warn', 'loop harder', 'loop stop']);
  assert.equal(guards.before({ tool: 'x', input: {}, key: '1', mutates: false }).kind, 'stop');
});

test('all limits scale with the threshold', async () => {
  const { after, fired } = guarded({ loopDetectionThreshold: 6 });
  assert.deepEqual(await after(...edits(5)), []);
  assert.match((await after(...edits(6).slice(5))).join(), /edited a\.ts 6 times/);
  assert.equal(fired.length, 1);
  const same = times(12, () => look('a', 'text'));
  assert.deepEqual(await after(...same.slice(0, 5)), []);
  assert.match((await after(...same.slice(5, 6))).join(), /You've called read_file 6 times/);
  assert.deepEqual(stops(await after(...same.slice(6, 10))), []);
  assert.equal(stops(await after(...same.slice(10))).length, 1);
});

test('a run ends only between two answers, and after a warning that was in a request', async () => {
  const { guards, fired } = guarded();
  const { call, result } = look('a');
  for (let index = 0; index < 40; index += 1) await guards.after({ ...call, key: `0.${index}` }, result);
  guards.beforeStep(1);
  assert.deepEqual([guards.state().stop, fired], [undefined, ['loop warn']], 'forty calls of one answer');
  await guards.after({ ...call, key: '1.0' }, result);
  assert.equal(guards.state().stop, undefined, 'in the middle of an answer');
  guards.beforeStep(2);
  assert.match(guards.state().stop?.reason ?? '', /^read_file was called again and again/);

  const heeded = guarded();
  for (let index = 0; index < 40; index += 1)
    await heeded.guards.after({ ...call, key: `0.${index}` }, result);
  heeded.guards.beforeStep(1);
  for (let step = 1; step < 20; step += 1) {
    const { call: other, result: shown } = look(`other-${step}`, `what ${step} holds`);
    await heeded.guards.after({ ...other, key: `${step}.0` }, shown);
    heeded.guards.beforeStep(step + 1);
  }
  assert.equal(heeded.guards.state().stop, undefined, 'a warning that was heeded');
});

test('what is far apart does not count', async () => {
  const { after, fired } = guarded();
  for (let round = 0; round < 12; round += 1)
    assert.deepEqual(await after(shell('ls', 0, 'a b'), look(`file-${round}`, `text ${round}`)), []);
  assert.deepEqual(fired, []);
});

test('two spellings of a path count as one file', async () => {
  const { after } = guarded();
  assert.equal((await after(edit('./a.ts', 'a.ts'), edit('a.ts'), edit('x/../a.ts', 'a.ts'))).length, 1);
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

test('two files that are rewritten in turn: a warning, then a stop', async () => {
  const { after, fired } = guarded();
  const told = await after(...inTurn(12));
  assert.match(
    told[0] ?? '',
    /^You've edited the same files \(a\.ts, b\.ts\) 8 times since a check passed, .* Verify what you have/,
  );
  assert.deepEqual(told.slice(1), [
    'stop: the same files (a.ts, b.ts) were edited in circles, and no check passed',
  ]);
  assert.deepEqual(fired, ['loop warn', 'loop stop']);
});

test('restoring and repeating count from the second time on in one place', async () => {
  const there = replaces('a.ts', 'return first;', 'return second;');
  const back = replaces('a.ts', 'let x; return second;', 'let x; return first;');
  const { after } = guarded();
  assert.deepEqual(
    await after(there, shell('npm test', 1, 'no'), back, shell('npm test', 1, 'no')),
    [],
    'an undo',
  );
  const told = await after(there, shell('npm test', 1, 'no'), back, shell('npm test', 1, 'no'), there);
  assert.equal(stops(told).length, 1, told.join('\n'));
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
    const { after, guards } = guarded();
    await after(...times(4, () => look('a')));
    const before = guards.state().loop.score;
    await after(act);
    assert.equal(guards.state().loop.score === 0 ? 0 : 1, told, JSON.stringify([act, before]));
  }
});

test('prose may be reworded again and again if it is read in between', async () => {
  const { after } = guarded();
  for (let round = 0; round < 20; round += 1)
    assert.deepEqual(await after(...edits(round + 1, 'a.md').slice(-1), look('a.md', round)), []);
});

test('with loop detection off, there are no warnings', async () => {
  const { after, fired } = guarded({ loopDetection: false });
  assert.deepEqual(await after(...edits(50), ...inTurn(50), ...times(50, () => look('a'))), []);
  assert.deepEqual(fired, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edits, inTurn, replaces, rewrites, times } from '../../../testing/acts.ts';
import { type GuardCase, guardCases } from '../../../testing/guard-cases.ts';
import { type Act, edit, guarded, look, shell } from '../../../testing/guarded.ts';

const FAILS = shell('npm test', 1, 'no');
const THERE = replaces('a.ts', 'return first;', 'return second;');
const BACK = replaces('a.ts', 'let x; return second;', 'let x; return first;');

const BETWEEN: readonly [what: string, act: Act][] = [
  ['another file', edit('b.ts')],
  ['a look', look('a.ts')],
  ['a check that fails', FAILS],
];

guardCases([
  {
    name: 'edits of one file: a warning at 3, a stronger one at 6, and no stop while they lead on',
    acts: edits(40),
    told: {
      3: "You've edited a.ts 3 times. Consider stepping back: is your approach correct, or should you try a fundamentally different solution?",
      6: /^You've edited a\.ts 6 times, and no check .* A run that goes on in circles is ended\.$/,
    },
    fired: ['loop warn', 'loop harder'],
  },
  {
    name: 'rewriting one place again and again ends the run',
    acts: rewrites(8),
    told: {
      3: /^You've edited a\.ts 3 times/,
      5: /^You've edited the same files \(a\.ts\) 5 times since a check passed, and the edits restore/,
      6: /^stop: the same files \(a\.ts\) were edited in circles, and no check passed$/m,
    },
    fired: ['loop warn', 'loop warn', 'loop harder', 'loop stop'],
  },
  {
    name: 'all limits scale with the threshold',
    hooks: { loopDetectionThreshold: 6 },
    acts: [...edits(6), ...times(12, () => look('a'))],
    told: {
      6: /edited a\.ts 6 times/,
      12: /You've called read_file 6 times/,
      17: /^stop: /,
    },
  },
  {
    name: 'what is far apart does not count',
    acts: times(24, (at) => (at % 2 === 0 ? shell('ls', 0, 'a b') : look(`file-${at}`, `text ${at}`))),
    told: {},
    fired: [],
  },
  {
    name: 'two spellings of the path of an edit count as one file',
    acts: [edit('./a.ts', 'a.ts'), edit('a.ts'), edit('x/../a.ts', 'a.ts')],
    told: { 3: /./ },
  },
  {
    name: 'two spellings of the path of a look count as one file',
    acts: [look('a'), look('./a'), look('x/../a')],
    told: { 3: /./ },
  },
  ...BETWEEN.map(
    ([what, between]): GuardCase => ({
      name: `${what} between the edits of a file resets its count`,
      acts: edits(4).toSpliced(2, 0, between),
      told: {},
    }),
  ),
  {
    name: 'two files that are rewritten in turn: a warning, then a stop',
    acts: inTurn(12),
    told: {
      8: /^You've edited the same files \(a\.ts, b\.ts\) 8 times since a check passed, .* Verify what you have/,
      9: 'stop: the same files (a.ts, b.ts) were edited in circles, and no check passed',
    },
    fired: ['loop warn', 'loop stop'],
  },
  {
    name: 'restoring and repeating count from the second time on in one place',
    acts: [THERE, FAILS, BACK, FAILS, THERE, FAILS, BACK, FAILS, THERE],
    told: { 7: /^You've edited the same files \(a\.ts\) 4 times/, 9: /^stop: / },
  },
  {
    name: 'writing many files once is not a loop',
    acts: times(100, (at) => edit(`src/${at}.ts`)),
    told: {},
  },
  {
    name: 'prose may be reworded again and again if it is read in between',
    acts: edits(20, 'a.md').flatMap((act, round) => [act, look('a.md', round)]),
    told: {},
  },
  {
    name: 'with loop detection off, there are no warnings',
    hooks: { loopDetection: false },
    acts: [...edits(50), ...inTurn(50), ...times(50, () => look('a'))],
    told: {},
    fired: [],
  },
]);

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

import { edits, times } from '../../../testing/acts.ts';
import { type GuardCase, guardCases } from '../../../testing/guard-cases.ts';
import { type Act, edit, fails, look, shell } from '../../../testing/guarded.ts';

const call = (input: object): Act => ({
  ...shell('ls'),
  call: { tool: 'shell_exec', input, mutates: true },
});
const LONG = 'one line of a text that is long enough to be told apart from the other texts of this test';
const FAILS = shell('npm test', 1, 'AssertionError: 1 !== 2');
const failsAfter = (ms: number): Act =>
  shell('npm test', 1, `AssertionError: 1 !== 2\nduration_ms ${ms}.${ms}\nran in ${ms}0 ms`);
/** Twenty acts: one and the same in turn with another. */
const inTurnWith = (act: Act, other: (at: number) => Act): Act[] =>
  times(20, (at) => (at % 2 === 0 ? act : other(at)));

/** Acts that are no repetition. */
const NONE: readonly [name: string, acts: readonly Act[]][] = [
  ['looks at a file that changes', times(20, (at) => look('a', `version ${at}`))],
  ['commands with other outputs', times(20, (at) => shell('git status', 0, `version ${at}`))],
  ['looks with edits in between', inTurnWith(look('a'), (at) => edit(`${at}.md`))],
  ['looks with pauses in between', inTurnWith(look('b'), () => shell('sleep 1'))],
  ['a command that polls', times(20, () => shell('sleep 30 && gh run view'))],
  ['a check that passes after each change', inTurnWith(shell('npm test'), (at) => edit(`${at}.ts`))],
  ['different calls that show the same short text', times(20, (at) => shell(`head -${50 + at} a`, 0, 'x'))],
  ['equal errors with other edits in between', edits(10).flatMap((act) => [FAILS, act])],
  ['equal errors with other commands in between', inTurnWith(FAILS, (at) => shell(`chmod +x tool-${at}`))],
  ['different errors', times(20, (at) => shell('npm test', 1, `${at} tests failed`))],
  [
    'equal errors about different addresses',
    times(20, (at) => fails('web_fetch', { url: `http://${at}` }, 'it answered 404')),
  ],
  ['failed commands about different files', times(20, (at) => shell(`test -e ${at}`, 1))],
];

guardCases([
  {
    name: 'identical calls: a warning at 3, a stop at 5',
    acts: times(5, () => look('a')),
    told: {
      3: /^You've called read_file 3 times with the same input\./,
      5: 'stop: read_file was called again and again with the same input and the same result',
    },
    fired: ['loop warn', 'loop stop'],
  },
  ...NONE.map(([name, acts]): GuardCase => ({ name: `no repetition: ${name}`, acts, told: {} })),
  {
    name: 'a command that does not pause is repeated',
    acts: times(5, () => shell('sleep 0; ls')),
    told: { 3: /./, 5: /^stop: / },
  },
  {
    name: 'a check that passes may be repeated six times, and no more if nothing changes',
    acts: times(7, () => shell('npm test')),
    told: { 5: /^You've called shell_exec 5 times/, 7: /^stop: / },
  },
  {
    name: 'different calls that show the same long text are a repetition',
    acts: times(6, (at) => shell(`head -${50 + at} a.txt`, 0, LONG)),
    told: {
      3: /^Your calls have shown the same 3 times\./,
      5: 'stop: different calls showed the same again and again',
    },
  },
  {
    name: 'identical calls are recognized despite key order and whitespace in commands',
    acts: [
      call({ command: 'ls  -l', timeout_s: 5 }),
      call({ timeout_s: 5, command: ' ls -l\n' }),
      call({ command: 'ls -l', timeout_s: 5 }),
    ],
    told: { 3: /^You've called shell_exec 3 times with the same input/ },
  },
  {
    name: 'identical errors: a warning at 3, a stop at 5',
    acts: times(5, failsAfter),
    told: {
      3: /^shell_exec has failed 3 times with the same error\./,
      5: 'stop: shell_exec failed again and again with the same error',
    },
  },
  {
    name: 'a check that passes between identical errors ends the repetition',
    acts: [...times(4, failsAfter), shell('npm test'), ...times(2, failsAfter)],
    told: { 3: /./ },
  },
  {
    name: 'equal errors about the same file are a repetition',
    acts: times(3, (at) => fails('edit_file', { path: 'a', old_text: `${at}` }, 'old_text does not occur')),
    told: { 3: /./ },
  },
]);

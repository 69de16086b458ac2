import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edits, stops, times } from '../../testing/acts.ts';
import { type Act, edit, fails, guarded, look, shell } from '../../testing/guarded.ts';

test('identical calls: a warning at 3, a stop at 5', async () => {
  const { after, fired } = guarded();
  const acts = times(5, () => look('a'));
  assert.deepEqual(await after(...acts.slice(0, 2)), []);
  assert.match((await after(look('a'))).join(), /^You've called read_file 3 times with the same input\./);
  assert.deepEqual(await after(look('a')), []);
  assert.deepEqual(await after(look('a')), [
    'stop: read_file was called again and again with the same input and the same result',
  ]);
  assert.deepEqual(fired, ['loop warn', 'loop stop']);
});

test('a new answer, an edit or a pause ends a repetition', async () => {
  const { after } = guarded();
  assert.deepEqual(await after(...times(20, (at) => look('a', `version ${at}`))), []);
  assert.deepEqual(await after(...times(20, (at) => shell('git status', 0, `version ${at}`))), []);
  assert.deepEqual(await after(...times(20, (at) => (at % 2 === 0 ? look('a') : edit(`${at}.md`)))), []);
  assert.deepEqual(await after(...times(20, (at) => (at % 2 === 0 ? look('b') : shell('sleep 1')))), []);
  assert.deepEqual(await after(...times(20, () => shell('sleep 30 && gh run view'))), [], 'it polls');
  assert.equal((await after(...times(3, () => shell('git status')))).length, 1);
  const quick = guarded();
  assert.equal(stops(await quick.after(...times(5, () => shell('sleep 0; ls')))).length, 1);
});

test('a check that passes may be repeated six times, and no more if nothing changes', async () => {
  const { after } = guarded();
  assert.deepEqual(await after(...times(4, () => shell('npm test'))), []);
  assert.match(
    (await after(...times(2, () => shell('npm test')))).join(),
    /^You've called shell_exec 5 times/,
  );
  assert.equal(stops(await after(shell('npm test'))).length, 1);
  const other = guarded();
  const acts = times(20, (at) => (at % 2 === 0 ? edit(`${at}.ts`) : shell('npm test')));
  assert.deepEqual(await other.after(...acts), []);
});

test('different calls that show the same are a repetition, unless it is short', async () => {
  const { after } = guarded();
  const text = 'one line of a text that is long enough to be told apart from the other texts of this test';
  const told = await after(...times(6, (at) => shell(`head -${50 + at} a.txt`, 0, text)));
  assert.match(told[0] ?? '', /^Your calls have shown the same 3 times\./);
  assert.deepEqual(told.slice(1), ['stop: different calls showed the same again and again']);
  const short = guarded();
  assert.deepEqual(await short.after(...times(20, (at) => look(`file-${at}`, 'x'))), []);
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
  const told = await after(...times(4, (at) => failing(at)));
  assert.match(told.join(), /^shell_exec has failed 3 times with the same error\./);
  assert.deepEqual(await after(failing(9)), ['stop: shell_exec failed again and again with the same error']);
  const cleared = guarded();
  await cleared.after(...times(4, failing), shell('npm test'));
  assert.deepEqual(await cleared.after(...times(2, failing)), []);
});

test('equal errors with something different tried in between are no repetition', async () => {
  const failing = shell('npm test', 1, 'AssertionError: 1 !== 2');
  const acts = edits(10);
  const { after } = guarded();
  for (const act of acts) assert.deepEqual(stops(await after(failing, act)), []);
  const other = guarded();
  for (let at = 0; at < 10; at += 1)
    assert.deepEqual(await other.after(failing, shell(`chmod +x tool-${at}`)), []);
});

test('different errors, or errors about different targets, are not a repetition', async () => {
  const { after } = guarded();
  assert.deepEqual(await after(...times(20, (at) => shell('npm test', 1, `${at} tests failed`))), []);
  assert.deepEqual(
    await after(...times(20, (at) => fails('web_fetch', { url: `http://${at}` }, 'it answered 404'))),
    [],
  );
  assert.deepEqual(await after(...times(20, (at) => shell(`test -e ${at}`, 1))), []);
  const guesses = times(3, (at) =>
    fails('edit_file', { path: 'a', old_text: `${at}` }, 'old_text does not occur'),
  );
  assert.equal((await after(...guesses)).length, 1, 'the same file is the same thing');
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { PROFILES, ROOT, startFleet } from '../support/fleet.ts';
import { CTRL_C, DOWN, ENTER, openTerminal } from '../support/terminal.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');
const NOTE = 'Write a note.\n\n```note.txt\nHello.\n```\n\n```sh\ncat note.txt\n```\n';
const LONG = 'Wait.\n\n```sh\nsleep 60\n```\n';
const ASKING = [
  'Paint the room that your caller names.\n',
  '```tool ask_caller\n{"question": "Which room?"}\n```\n',
  '```sh\necho painted >> painted.txt\ncat painted.txt\n```',
].join('\n');

test('a person sends, sees, answers and cancels tasks of a running fleet', async (t) => {
  const fleet = await startFleet(t, PROFILES, { inProcess: true });
  const words = (...args: string[]) => [process.execPath, CLI, ...args, '--dir', fleet.dir];
  const run = async (args: readonly string[], input = '') => {
    const [program = '', ...rest] = words(...args);
    const child = spawn(program, rest);
    child.stdin.end(input);
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve) => child.once('close', resolve)),
    ]);
    return { code, stdout, stderr };
  };

  await t.test('send prints the result, and progress apart from it', async () => {
    const done = await run(['send', '-', '--budget', '20000', '--deadline', '10m'], NOTE);
    assert.equal(done.code, 0, done.stderr);
    assert.match(
      done.stdout,
      /\n {2}status {5}done\n {2}files {6}note\.txt\n {2}branch {5}fleet\/\S+\n {2}commit {5}[0-9a-f]{40}\n {2}evidence {3}command: cat note\.txt \(exit code 0\)/,
    );
    assert.match(done.stdout, /\n {2}spent {6}\d+ tokens in \d+ s\n {2}by {9}(neo|morpheus|trinity)\n/);
    assert.match(done.stderr, /^task \S+ in context \S+\n/);
    // A task of more than a second has told its tokens before, and its budget.
    assert.match(
      done.stderr,
      /^completed {3}at (neo|morpheus|trinity) {2}([█░]+ )?\d+(\/20000)? tokens {2}\d+ s of (10 min|9 min 5\d s)$/m,
    );
    const [, context] = /context +(\S+)/.exec(done.stdout) ?? [];
    const more = await run(['send', 'Go on.', '--context', String(context), '--to', 'neo', '-o', 'json']);
    const { context_id, result } = JSON.parse(more.stdout);
    assert.deepEqual([result.status, result.executed_by, context_id], ['partial', 'neo', context]);
    assert.deepEqual([more.code, more.stderr], [4, '']);
  });

  await t.test('a blocked task ends with 3', async () => {
    const blocked = await run(['send', 'x', '--mcp', 'nope']);
    assert.equal(blocked.code, 3);
    assert.match(blocked.stdout, /status {5}blocked\n {2}reason {5}required MCP server "nope"/);
  });

  await t.test('a task that is left is found, watched, accounted for and canceled', async () => {
    const sent = JSON.parse((await run(['send', '-', '--to', 'neo', '--detach', '--json'], LONG)).stdout);
    assert.equal((await run(['task', sent.id])).code, 0);
    const tasks = JSON.parse((await run(['tasks', '-o', 'json'])).stdout);
    assert.equal(tasks.tasks[0].task.id, sent.id);
    assert.deepEqual(tasks.silent, []);
    assert.match((await run(['tasks', '--state', 'completed'])).stdout, /completed {2}switch/);
    const watching = run(['watch', sent.id]);
    const canceled = await run(['cancel', sent.id]);
    assert.equal(canceled.code, 0, canceled.stderr);
    assert.match(canceled.stdout, /canceled by its caller/);
    assert.equal((await watching).code, 1);
    assert.match((await run(['cost', sent.id])).stdout, /^\d+ tokens, \d+ of them by peers; canceled\n/);
    const again = await run(['cancel', sent.id]);
    assert.deepEqual([again.code, /TASK_NOT_CANCELABLE.*\nhint: /.test(again.stderr)], [1, true]);
    assert.match(
      (await run(['task', 'nope'])).stderr,
      /^fleet: switch, neo, morpheus, trinity: no such task of yours/,
    );
    const cost = JSON.parse((await run(['cost', '--json'])).stdout);
    const names = cost.profiles.map(({ profile }: { profile: string }) => profile);
    assert.deepEqual([names, cost.silent], [['switch', 'neo', 'morpheus', 'trinity'], []]);
  });

  await t.test('on a terminal, the question of a task is asked there', async (t) => {
    const terminal = openTerminal(t, words('send', ASKING, '--to', 'neo'));
    await terminal.waitFor(/Which room\?/);
    terminal.type(`The blue one.${ENTER}`);
    await terminal.waitFor(/status {5}done/);
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.screen(), /The blue one/);
  });

  await t.test('without a terminal, the question is printed with how to answer it', async () => {
    const asked = await run(['send', ASKING, '--to', 'neo']);
    assert.equal(asked.code, 3);
    const [, id] =
      / {2}asks {7}Which room\?\n[\s\S]*to answer: fleet answer (\S+) "…"\n$/.exec(asked.stdout) ?? [];
    const answered = await run(['answer', String(id), 'The red one.']);
    assert.equal(answered.code, 0, answered.stderr);
    assert.match(answered.stdout, /The red one\./);
  });

  await t.test('on a terminal, Ctrl-C asks whether to detach or to cancel', async (t) => {
    const left = openTerminal(t, words('send', LONG, '--to', 'neo'), { ...process.env, NO_COLOR: '1' });
    await left.waitFor(/task \S+ in context/);
    const [, id] = /task (\S+) in context/.exec(left.screen()) ?? [];
    await left.waitFor(/working/);
    left.type(CTRL_C);
    await left.waitFor(/detach/);
    left.type(ENTER);
    await left.waitFor(/the task goes on: fleet watch/);
    assert.equal(await left.ended, 0);
    assert.doesNotMatch(left.screen(), /\[3\dm/, 'NO_COLOR');

    const seen = openTerminal(t, words('watch', String(id)));
    await seen.waitFor(/\[36mworking/);
    seen.type(CTRL_C);
    await seen.waitFor(/cancel it/);
    seen.type(`${DOWN}${ENTER}`);
    await seen.waitFor(/canceled by its caller/);
    assert.equal(await seen.ended, 1);
  });
});

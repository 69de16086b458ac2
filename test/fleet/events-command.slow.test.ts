import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { ROOT, readEvents, runProgram, startFleet } from '../support/fleet.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');

test('fleet events prints what the stream has, and follows it until Ctrl-C', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo'], { inProcess: true });
  const run = (...args: string[]) => runProgram(process.execPath, [CLI, ...args, '--dir', fleet.dir]);
  const isEnd = ({ type }: { type: string }) => /\.(done|partial)\./.test(type);

  const nothing = await run('events');
  assert.deepEqual([nothing.code, nothing.stdout, nothing.stderr], [0, '', '']);

  const following = spawn(process.execPath, [CLI, 'events', '-f', '--type', 'submitted', '--dir', fleet.dir]);
  t.after(() => following.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => following.once('close', resolve));
  const lines = createInterface({ input: following.stdout })[Symbol.asyncIterator]();

  const { id } = JSON.parse((await run('send', 'Say hello.', '--to', 'neo', '-o', 'json')).stdout);
  await readEvents(fleet, (events) => events.some((event) => event.subject === id && isEnd(event)));

  const first = String((await lines.next()).value);
  const fields = 'priority=normal  write=true  target=neo';
  assert.match(first, new RegExp(`^\\d{4}-\\S+Z {2}switch {4}submitted {7}${id} {2}${fields}$`));
  following.kill('SIGINT');
  assert.equal(await ended, 0);

  // The task of neo has another id, and this one as its task_id.
  const text = (await run('events', '--task', id)).stdout.trim().split('\n');
  assert.deepEqual([...new Set(text.map((line) => line.split(/ +/)[1]))].sort(), ['neo', 'switch']);
  const end = text.find((line) => / switch +(done|partial) /.test(line));
  assert.match(String(end), new RegExp(`  ${id}  .*status=(done|partial) .*tokens_spent=\\d+`));
  assert.equal((await run('events', '--task', 'nope')).stdout, '');
  const neo = (await run('events', '--profile', 'neo', '-o', 'json')).stdout.trim().split('\n');
  const events = neo.map((line) => JSON.parse(line));
  assert.ok(events.some((event) => event.specversion === '1.0' && event.type.includes('.started.')));
  assert.deepEqual([...new Set(events.map(({ source }) => source))], ['/profiles/neo']);

  // As in the container that `./fleet events` starts: the keys and the server come from the environment alone.
  const { hostname, port } = new URL(fleet.plan.nats.url);
  const inside = await runProgram(process.execPath, [CLI, 'events', '--as-is', '--task', id], {
    env: { HERMES_KEYS_DIR: join(fleet.plan.keysDir, 'operator'), NATS_HOST: hostname, NATS_PORT: port },
  });
  assert.deepEqual([inside.code, inside.stdout.trim().split('\n')], [0, text], inside.stderr);
});

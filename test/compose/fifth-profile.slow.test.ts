import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { composeProject } from '../support/compose.ts';
import { doc, fenced, section } from '../support/docs.ts';
import { withoutEngine } from '../support/engine.ts';
import { ROOT, runProgram, until } from '../support/fleet.ts';
import { call, dispatch, message, runbook } from '../support/rpc.ts';

const GUIDE = section(doc('docs/peering.md'), 'Adding a profile by configuration');
/** Parts of a checkout that are no part of it, or large. */
const LEFT_OUT = /^(node_modules|\.git|\.cache|\.fleet)(\/|$)|(^|\/)state(\/|$)/;

test('a fifth profile in containers takes tasks, as docs/peering.md adds it', {
  skip: withoutEngine(),
}, async (t) => {
  const dir = join(tempDir(t), 'checkout');
  const { env } = composeProject(t, { ORACLE_PORT: '0', FLEET_FOLDER: dir });
  cpSync(ROOT, dir, { recursive: true, filter: (source) => !LEFT_OUT.test(relative(ROOT, source)) });
  const run = async (command: string, args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runProgram(command, args, { cwd: dir, env, timeoutMs: 300_000 });
    assert.equal(code, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  };

  const [commands = ''] = fenced(GUIDE, 'sh');
  const [add, up, ...others] = commands.trim().split('\n');
  assert.deepEqual([up, others], ['fleet up', []]);
  assert.match(add ?? '', /^fleet profile add oracle /);
  await run(process.execPath, [join(ROOT, 'libs/cli/src/main.ts'), ...(add ?? '').split(' ').slice(1)]);
  await run('docker', ['compose', 'up', '--build', '--detach', '--wait', 'switch', 'oracle']);

  const token = (await run('docker', ['compose', 'run', '--rm', '--no-deps', '-T', 'keys', 'token'])).trim();
  const url = `http://${(await run('docker', ['compose', 'port', 'switch', '9219'])).trim()}`;
  const peer = async (): Promise<{ readonly state?: string }> => {
    const reply = await fetch(`${url}/fleet/peers`, { headers: { authorization: `Bearer ${token}` } });
    const { peers }: { peers: { name: string; state?: string }[] } = JSON.parse(await reply.text());
    return peers.find(({ name }) => name === 'oracle') ?? {};
  };
  await until(async () => (await peer()).state === 'live', 'oracle to be live');
  const brief = runbook('hello.txt', 'Hello.', 'cat hello.txt');
  const sent = message(dispatch({ brief, routing: { target: 'oracle' } }));
  const { body } = await call({ url, token }, 'SendMessage', sent);
  assert.equal(body.result.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body).slice(0, 2_000));
  const keys = ['compose', 'exec', '-T', '--user', '1000:1000', 'oracle', 'stat', '-c', '%a %u', '/run/keys'];
  assert.equal((await run('docker', keys)).trim(), '700 1000', 'no command of a task reads its keys');
  await run('docker', ['compose', 'down', '--volumes', '--timeout', '2']);
});

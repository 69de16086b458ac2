import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
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

const unindented = (block: string): string => block.replaceAll(/^ {3}/gm, '');

test('a fifth profile in containers takes tasks, as docs/peering.md adds it', {
  skip: withoutEngine(),
}, async (t) => {
  const { env } = composeProject(t);
  const dir = join(tempDir(t), 'checkout');
  cpSync(ROOT, dir, { recursive: true, filter: (source) => !LEFT_OUT.test(relative(ROOT, source)) });
  const edit = (file: string, change: (text: string) => string): void => {
    const before = readFileSync(join(dir, file), 'utf8');
    assert.notEqual(change(before), before, `${file} has nothing to change`);
    writeFileSync(join(dir, file), change(before));
  };
  const run = async (command: string, args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runProgram(command, args, { cwd: dir, env, timeoutMs: 300_000 });
    assert.equal(code, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  };

  const profile = join(dir, 'deploy/profiles/oracle');
  cpSync(join(dir, 'deploy/profiles/neo'), profile, { recursive: true });
  edit('deploy/profiles/oracle/IDENTITY.md', (text) => text.replace(/^name: .*$/m, 'name: oracle'));
  const configuration = /^ {3}```yaml\n(.*?)^ {3}```$/ms.exec(GUIDE)?.[1] ?? '';
  writeFileSync(join(profile, 'fleet.yaml'), unindented(configuration));
  const [caller = '', agent = ''] = [...GUIDE.matchAll(/^ +oracle: \{.*\}$/gm)].map(([line]) =>
    unindented(line),
  );
  edit('deploy/profiles/switch/fleet.yaml', (text) =>
    text
      .replace('    callers:\n', `    callers:\n${caller}\n`)
      .replace('  agents:\n', `  agents:\n${agent}\n`),
  );
  const [override = ''] = fenced(GUIDE, 'yaml');
  // The engine chooses the port.
  writeFileSync(join(dir, 'docker-compose.override.yml'), override.replace('9230:9230', '0:9230'));
  const [tokens = ''] = fenced(GUIDE, 'sh').slice(-1);
  await run('sh', ['-e', '-c', tokens]);
  await run('docker', ['compose', 'up', '--detach', '--wait', 'switch', 'oracle']);

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

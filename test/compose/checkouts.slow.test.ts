import assert from 'node:assert/strict';
import { cpSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { preflight } from '../../libs/cli/src/containers/preflight.ts';
import { folderAt } from '../../libs/cli/src/folder/fleet-folder.ts';
import { composeProject } from '../support/compose.ts';
import { withoutEngine } from '../support/engine.ts';
import { ROOT, runProgram } from '../support/fleet.ts';

/** A checkout with what `up` and `down` read before they change anything. */
function checkout(t: TestContext, name: string): string {
  const dir = join(realpathSync(tempDir(t, { prefix: 'two checkouts ' })), name);
  for (const part of ['.env', 'docker-compose.yml', 'deploy/prometheus/prometheus.yml'])
    cpSync(join(ROOT, part), join(dir, part), { recursive: true });
  for (const folder of ['deploy/prometheus/rules', 'deploy/profiles']) mkdirSync(join(dir, folder));
  return dir;
}

/** A port that a server of this process has until it is disposed of. */
async function takenPort(): Promise<AsyncDisposable & { readonly port: string }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? String(address.port) : '';
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())) };
}

async function freePort(): Promise<string> {
  await using taken = await takenPort();
  return taken.port;
}

test('up and down of one checkout leave alone what another has', { skip: withoutEngine() }, async (t) => {
  const { name, env } = composeProject(t, { FLEET_MODE: 'docker' });
  const [first, second] = [checkout(t, 'first'), checkout(t, 'Second One')];
  const run = (cwd: string, [program = '', ...args]: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    runProgram(program, args, { cwd, env: { ...env, ...more }, timeoutMs: 120_000 });
  const check = async (cwd: string, verb: 'up' | 'down', more: NodeJS.ProcessEnv = {}) => {
    const stderr = new PassThrough();
    const checked = await preflight(folderAt(cwd), verb, { env: { ...env, ...more }, stderr });
    return { isFine: checked !== undefined, said: await text(stderr.end()) };
  };
  const recorded = async (): Promise<string> => {
    const args = ['docker', 'volume', 'inspect', '--format', '{{json .Labels}}', `${name}_checkout`];
    return (await run(first, args)).stdout.trim();
  };

  await t.test('a taken port is named, with who has it and another to use; nothing is recorded', async () => {
    await using taken = await takenPort();
    const { port } = taken;
    const next = Number(port) + 1000;
    const { isFine, said } = await check(first, 'up', { SWITCH_PORT: port });
    assert.equal(isFine, false);
    const program = `node \\(pid ${process.pid}\\) in ${process.cwd()}`;
    assert.match(said, new RegExp(`^port ${port} of switch is in use by ${program}; SWITCH_PORT=${next}`));
    assert.match(said, new RegExp(`^nothing was started: .* SWITCH_PORT=${next} make up$`, 'm'));
    assert.equal(await recorded(), '');
    const optional = await check(first, 'up', { CONSOLE_PORT: port });
    assert.equal(optional.isFine, true, optional.said);
    assert.match(optional.said, /of console is in use by node .*, so the fleet runs without it/);
  });

  const port = await freePort();
  const start = ['docker', 'compose', 'up', '--detach', '--no-deps', 'prometheus'];
  const started = await run(first, start, { PROMETHEUS_PORT: port });
  assert.equal(started.code, 0, started.stderr);
  assert.ok((await check(first, 'up', { PROMETHEUS_PORT: port })).isFine, 'its own port is free');
  assert.equal(await recorded(), JSON.stringify({ 'hermes-fleet.checkout': first }));

  await t.test(
    'a port of the containers of another checkout names the container and the checkout',
    async () => {
      const more = { COMPOSE_PROJECT_NAME: `${name}-b`, SWITCH_PORT: port };
      const { isFine, said } = await check(second, 'up', more);
      assert.equal(isFine, false);
      const words = `port ${port} of switch is in use by the container ${name}-prometheus-1 of ${first};`;
      assert.ok(said.startsWith(words), said);
    },
  );

  await t.test('up and down of a second checkout are refused, with what gives it a fleet', async () => {
    const up = await check(second, 'up', { SWITCH_PORT: '9219' });
    assert.equal(up.isFine, false);
    const lines = up.said.split('\n');
    assert.equal(
      lines[0],
      `the containers and volumes of the Compose project ${name} are of the checkout ${first}, not of this one`,
    );
    for (const line of [`COMPOSE_PROJECT_NAME=${name}-secondone`, 'SWITCH_PORT=10219'])
      assert.ok(lines.includes(line), up.said);
    const down = await check(second, 'down');
    assert.equal(down.isFine, false);
    assert.match(down.said, new RegExp(`^to stop them: make -C '${first}' down$`, 'm'));
  });

  await t.test('volumes stay with their checkout after down, until it is gone', async () => {
    const down = await run(first, ['docker', 'compose', 'down']);
    assert.equal(down.code, 0, down.stderr);
    assert.ok(!(await check(second, 'up')).isFine);
    assert.ok((await check(first, 'up')).isFine);
    rmSync(first, { recursive: true });
    assert.deepEqual(await check(second, 'up'), { isFine: true, said: '' });
  });
});

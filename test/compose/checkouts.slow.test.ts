import assert from 'node:assert/strict';
import { cpSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { composeProject } from '../support/compose.ts';
import { withoutEngine } from '../support/engine.ts';
import { ROOT, runProgram } from '../support/fleet.ts';

const PARTS = ['.env', 'docker-compose.yml', 'fleet', 'deploy/fleet.sh', 'deploy/port-owner.sh'];

/** A checkout with what `up` and `down` read before they change anything. */
function checkout(t: TestContext, name: string): string {
  const dir = join(realpathSync(tempDir(t, { prefix: 'two checkouts ' })), name);
  for (const part of [...PARTS, 'deploy/docker/preflight.sh'])
    cpSync(join(ROOT, part), join(dir, part), { recursive: true });
  mkdirSync(join(dir, 'deploy/prometheus/rules'), { recursive: true });
  cpSync(join(ROOT, 'deploy/prometheus/prometheus.yml'), join(dir, 'deploy/prometheus/prometheus.yml'));
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
  const run = (cwd: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    runProgram(args[0] ?? '', args.slice(1), { cwd, env: { ...env, ...more }, timeoutMs: 120_000 });
  const preflight = (cwd: string, verb: string, more: NodeJS.ProcessEnv = {}) =>
    run(cwd, ['sh', 'deploy/docker/preflight.sh', verb], more);
  const recorded = async (): Promise<string> => {
    const args = ['docker', 'volume', 'inspect', '--format', '{{json .Labels}}', `${name}_checkout`];
    return (await run(first, args)).stdout.trim();
  };

  await t.test('a taken port is named, with who has it and another to use; nothing is recorded', async () => {
    await using taken = await takenPort();
    const { port } = taken;
    const next = Number(port) + 1000;
    const { code, stderr } = await run(first, ['./fleet', 'up'], { SWITCH_PORT: port });
    assert.equal(code, 1);
    const program = `node \\(pid ${process.pid}\\) in ${process.cwd()}`;
    assert.match(stderr, new RegExp(`^port ${port} of switch is in use by ${program}; SWITCH_PORT=${next}`));
    assert.match(stderr, new RegExp(`^nothing was started: .* SWITCH_PORT=${next} make up$`, 'm'));
    assert.equal(await recorded(), '');
    const optional = await preflight(first, 'up', { CONSOLE_PORT: port });
    assert.equal(optional.code, 0, optional.stderr);
    assert.match(optional.stderr, /of console is in use by node .*, so the fleet runs without it/);
  });

  const port = await freePort();
  const start = ['docker', 'compose', 'up', '--detach', '--no-deps', 'prometheus'];
  const started = await run(first, start, { PROMETHEUS_PORT: port });
  assert.equal(started.code, 0, started.stderr);
  assert.equal((await preflight(first, 'up', { PROMETHEUS_PORT: port })).code, 0, 'its own port is free');
  assert.equal(await recorded(), JSON.stringify({ 'hermes-fleet.checkout': first }));

  await t.test(
    'a port of the containers of another checkout names the container and the checkout',
    async () => {
      const more = { COMPOSE_PROJECT_NAME: `${name}-b`, SWITCH_PORT: port };
      const { code, stderr } = await preflight(second, 'up', more);
      assert.equal(code, 1);
      const words = `port ${port} of switch is in use by the container ${name}-prometheus-1 of ${first};`;
      assert.ok(stderr.startsWith(words), stderr);
    },
  );

  await t.test('up and down of a second checkout are refused, with what gives it a fleet', async () => {
    const up = await run(second, ['./fleet', 'up'], { SWITCH_PORT: '9219' });
    assert.deepEqual([up.code, up.stdout], [1, '']);
    const lines = up.stderr.split('\n');
    assert.equal(
      lines[0],
      `the containers and volumes of the Compose project ${name} are of the checkout ${first}, not of this one`,
    );
    for (const line of [`COMPOSE_PROJECT_NAME=${name}-secondone`, 'SWITCH_PORT=10219'])
      assert.ok(lines.includes(line), up.stderr);
    const down = await run(second, ['./fleet', 'down']);
    assert.equal(down.code, 1);
    assert.match(down.stderr, new RegExp(`^to stop them: make -C '${first}' down$`, 'm'));
    const left = await run(first, ['docker', 'compose', 'ps', '--quiet']);
    assert.notEqual(left.stdout, '', 'the containers of the first run');
  });

  await t.test('volumes stay with their checkout after down, until it is gone', async () => {
    const down = await run(first, ['./fleet', 'down']);
    assert.equal(down.code, 0, down.stderr);
    assert.equal((await preflight(second, 'up')).code, 1);
    assert.equal((await preflight(first, 'up')).code, 0);
    rmSync(first, { recursive: true });
    const { code, stderr } = await run(second, ['sh', 'deploy/docker/preflight.sh', 'up']);
    assert.equal(code, 0, stderr);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const LIMITS = `
workspace: { max_mb: 100 }
tools: { shell: { limits: { processes: 1000, memory_mb: 300, file_mb: 40 } } }
`;

async function run(fleet: Fleet, profile: string, ...commands: string[]) {
  const brief = runbook('a.txt', 'a', ...commands);
  const { body } = await call(fleet.target(profile), 'SendMessage', message(dispatch({ brief })));
  return resultOf(body.result.task);
}

test('a command that takes memory, processes, disk or a large file is ended and told why; its neighbour and the profile go on', async (t) => {
  const configYaml = (profile: string, shipped: string) => (profile === 'neo' ? shipped + LIMITS : shipped);
  const fleet = await startFleet(t, ['switch', 'neo'], { configYaml });
  const hog = 'head -c 90M /dev/zero | tail -c 89M | sleep 100 &';
  const attacks: readonly (readonly [command: string, says: RegExp])[] = [
    [`${Array(12).fill(hog).join(' ')} wait`, /used \d+ MiB of memory, and the limit is 300/],
    [
      'i=0; while [ $i -lt 3000 ]; do sleep 100 & i=$((i+1)); done',
      /EAGAIN.*1000 together \(tools\.shell\.limits\.processes\)/,
    ],
    [
      'i=0; while :; do head -c 20M /dev/zero > fill$i; i=$((i+1)); sleep 0.2; done',
      /files of this task take \d+ MiB of disk, and the limit is 100/,
    ],
    ['head -c 60M /dev/zero > fill', /SIGXFSZ: a file would exceed 40 MiB/],
  ];
  const pid = fleet.process('neo').pid;
  for (const [command, says] of attacks) {
    const attacking = run(fleet, 'neo', command);
    const neighbour = await run(fleet, 'neo', 'echo fine');
    assert.equal(neighbour.status, 'done', JSON.stringify(neighbour));
    const attacked = await attacking;
    assert.notEqual(attacked.status, 'done', command);
    assert.match(attacked.text, says, `${command}: ${JSON.stringify(attacked)}`);
    const next = await run(fleet, 'neo', 'echo fine');
    assert.equal(next.status, 'done', JSON.stringify(next));
  }
  assert.equal(fleet.process('neo').pid, pid, 'the gateway is the same process');
  assert.equal((await fetch(`${fleet.target('neo').url}/ready`)).status, 200);
});

test('a worker whose disk is nearly full gets no task: it goes to another one, and no token is spent there', async (t) => {
  const full = '\nworkspace: { min_free_mb: 1000000000 }\n';
  const configYaml = (profile: string, shipped: string) => (profile === 'neo' ? shipped + full : shipped);
  const fleet = await startFleet(t, ['switch', 'neo', 'morpheus'], { configYaml });
  const direct = await run(fleet, 'neo', 'echo fine');
  assert.deepEqual([direct.status, direct.tokens_spent], ['blocked', 0]);
  assert.deepEqual(
    direct.unmet.map(({ kind, name, transient }: Record<string, unknown>) => [kind, name, transient]),
    [['capacity', 'disk', true]],
  );
  const routing = { prefer: ['neo'] };
  const brief = runbook('a.txt', 'a', 'echo fine');
  const sent = message(dispatch({ brief, routing }));
  const routed = resultOf((await call(fleet.target('switch'), 'SendMessage', sent)).body.result.task);
  assert.equal(routed.status, 'done', JSON.stringify(routed));
  assert.notEqual(routed.executed_by, 'neo');
});

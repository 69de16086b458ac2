import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { withoutPrometheus } from '../../deploy/grafana/testing/prometheus-server.ts';
import { doc } from '../support/docs.ts';
import { ROOT, runProgram } from '../support/fleet.ts';
import { startModelServer } from '../support/model-server.ts';
import { freeOffset } from '../support/ports.ts';
import { resultOf } from '../support/rpc.ts';

const COPIED = [
  'deploy',
  'examples',
  'libs',
  'services',
  'Makefile',
  'fleet',
  'package.json',
  'tsconfig.json',
];

/** Everything that `make up` starts: the members, the console, NATS, and Prometheus where it is installed. */
const STARTED = withoutPrometheus ? 7 : 8;
/** A second `make up` prints the same addresses and curl; the curl is pasted into another shell. */
const AGAIN = `again=$(make up); echo "$again"; echo '-- pasted'; bash -c "curl \${again#*$'\\n'curl }"
echo; echo '-- listed'; make ps; make -s token\n`;

/** The shell blocks of a page, in order. */
const blocks = (text: string): string[] =>
  [...text.matchAll(/^(`{3,})sh\n(.*?)^\1$/gms)].map(([, , script = '']) => script);

test('every command of the tutorial works as it is written, in one shell, at a path with spaces', {
  timeout: 600_000,
}, async (t) => {
  let down = async (): Promise<unknown> => undefined;
  const copy = tempDir(t, { prefix: 'hermes tutorial ', closeFirst: () => down() });
  for (const name of [...COPIED, 'package-lock.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, preserveTimestamps: true });
  const modules = [join(ROOT, 'node_modules'), join(copy, 'node_modules')];
  if ((await runProgram('cp', ['-al', ...modules], { timeoutMs: 120_000 })).code !== 0) {
    rmSync(join(copy, 'node_modules'), { recursive: true, force: true });
    assert.equal((await runProgram('cp', ['-a', ...modules], { timeoutMs: 120_000 })).code, 0);
  }
  const model = await startModelServer(t, 'Hello, fleet, from a real address.', { input: 900, output: 12 });
  const offset = await freeOffset();
  const env = { ...process.env, FLEET_PORT_OFFSET: String(offset), NODE_COMPILE_CACHE: join(copy, '.cache') };
  down = () => runProgram('make', ['-s', 'down'], { cwd: copy, env: { ...env, FLEET_MODE: 'process' } });

  const page = blocks(doc('docs/tutorial.md'));
  assert.equal(page.length, 12);
  // What the page says of the view Blocked, asked as the page in the browser asks.
  const look = `jar=$(mktemp); curl -sS -c "$jar" -o /dev/null "$(./fleet console --no-open)"
until curl -sS -b "$jar" http://127.0.0.1:${9224 + offset}/api/blocked | grep -o '"missing":.*"name":"nope"'; do sleep 0.2; done\n`;
  const script = page
    .map(
      (block, index) => `echo "== ${index}"\n${block}${index === 0 ? AGAIN : ''}${index === 5 ? look : ''}`,
    )
    .join('\n')
    .replaceAll('http://127.0.0.1:8000/v1', model.url)
    .replaceAll('http://127.0.0.1:9219', `http://127.0.0.1:${9219 + offset}`)
    .replaceAll('PORT=9230', `PORT=${9230 + offset}`);
  const trap = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n`;
  const run = await runProgram('bash', ['-euo', 'pipefail', '-c', trap + script], {
    cwd: copy,
    env,
    timeoutMs: 540_000,
  });
  const said = run.stdout.split(/^== \d+$/m).slice(1);
  const all = `${run.stdout}\n${run.stderr}`;
  assert.equal(run.code, 0, all);
  const [up = '', pasted = '', listed = ''] = (said[0] ?? '').split(/^-- (?:pasted|listed)$/m);
  for (const name of ['switch', 'neo', 'morpheus', 'trinity', 'trader', 'console', 'nats'])
    assert.match(up, new RegExp(`^ +${name} +\\S+://`, 'm'));
  assert.equal(/^ +prometheus +http:\/\/127\.0\.0\.1:\d+$/m.test(up), !withoutPrometheus, up);
  assert.match(up, /^ {2}http:\/\/127\.0\.0\.1:\d+\/login\?code=[\w-]+$/m);
  assert.equal([...up.matchAll(/already running/g)].length, STARTED, up);
  assert.equal(resultOf(JSON.parse(pasted).result.task).status, 'done', pasted);
  // The supervisor is listed, too.
  assert.equal([...listed.matchAll(/ ready /g)].length, STARTED + 1, listed);
  assert.match(listed, /^[\w-]{43}$/m);
  assert.match(said[1] ?? '', /done/);
  assert.match(
    said[2] ?? '',
    /^the test fails$[\s\S]*^\+echo \$\(\(\$1 \+ \$2\)\)$[\s\S]*^made the branch fixed at [\s\S]*^the test passes$/m,
  );
  assert.match(said[4] ?? '', /Hello, fleet, from a real address\./, all);
  assert.match(said[4] ?? '', /912/, 'the tokens that the server metered');
  assert.ok(model.visits.some((visit) => visit.startsWith('POST')));
  assert.match(said[5] ?? '', /nope[\s\S]*exit code 3\nhttp:\S+\/login\?code=/, all);
  assert.match(said[5] ?? '', /"missing":.*"nope"/, 'the console');
  assert.match(said[6] ?? '', /nope/);
  assert.match(said[8] ?? '', /^counter/m);
  assert.match(said[9] ?? '', /5/);
  assert.equal([...(said[11] ?? '').matchAll(/ stopped/g)].length, STARTED, said[11]);
  assert.match(said[10] ?? '', /trend_follower[\s\S]*applied[\s\S]*applied/);
});

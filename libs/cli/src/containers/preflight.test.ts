import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { folderAt } from '../folder/fleet-folder.ts';
import { preflight } from './preflight.ts';

const DOCKER = `#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
  *' config '*) cat "$CONFIG" ;;
  'volume ls --quiet '*) [ -z "$OTHER" ] || echo a-volume ;;
  'volume ls '*) echo "$OTHER" ;;
esac
`;

/** A fleet folder, beside another one and a checkout, with a stub for docker and switch's port. */
function folders(t: TestContext, port: number | string) {
  const dir = realpathSync(tempDir(t, { prefix: 'fleet folders ' }));
  for (const name of ['mine', 'other', 'a checkout'])
    mkdirSync(join(dir, name, 'profiles'), { recursive: true });
  writeFileSync(join(dir, 'mine/compose.yaml'), '');
  writeFileSync(join(dir, 'other/compose.yaml'), '');
  writeFileSync(join(dir, 'a checkout/docker-compose.yml'), '');
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin/docker'), DOCKER, { mode: 0o755 });
  const services = { switch: { ports: [{ target: 9219, published: String(port) }] }, nats: {}, console: {} };
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ name: 'a-fleet', services }));
  const check = async (verb: 'up' | 'down', other = '') => {
    let said = '';
    const stderr = new Writable({
      write: (chunk, _, done) => {
        said += chunk;
        done();
      },
    });
    const env = {
      PATH: `${join(dir, 'bin')}:${process.env.PATH}`,
      CALLS: join(dir, 'calls'),
      CONFIG: join(dir, 'config.json'),
      OTHER: other && join(dir, other),
    };
    const checked = await preflight(folderAt(join(dir, 'mine')), verb, { env, stderr });
    return { checked, isFine: checked !== undefined, said };
  };
  return { dir, check, calls: () => readFileSync(join(dir, 'calls'), 'utf8') };
}

test('a project of another folder is left alone, and the folder is named with the way out', async (t) => {
  const { dir, check, calls } = folders(t, 9219);
  const up = await check('up', 'other');
  assert.equal(up.isFine, false);
  assert.match(up.said, new RegExp(`are of the fleet folder ${dir}/other, not of this one$`, 'm'));
  assert.match(up.said, /^COMPOSE_PROJECT_NAME=a-fleet-mine$/m);
  assert.match(up.said, /^SWITCH_PORT=10219$/m);
  assert.match(
    up.said,
    new RegExp(`: FLEET_FOLDER='${dir}/other' fleet down && docker volume rm a-fleet_checkout$`, 'm'),
  );
  const down = await check('down', 'a checkout');
  assert.equal(down.isFine, false);
  assert.match(
    down.said,
    new RegExp(`are of the checkout ${dir}/a checkout, .*\n.*: make -C '${dir}/a checkout' down\n$`),
  );
  assert.doesNotMatch(calls(), /volume (rm|create)/);
});

test('a folder that is gone has no claim, and up records its own', async (t) => {
  const { dir, check, calls } = folders(t, 0);
  const { isFine, said } = await check('down', 'gone');
  assert.deepEqual([isFine, said], [true, '']);
  assert.doesNotMatch(calls(), /volume (rm|create)/);
  assert.equal((await check('up', 'gone')).isFine, true);
  const wanted = `volume create --label hermes-fleet.checkout=${dir}/mine a-fleet_checkout`;
  assert.ok(calls().split('\n').includes(wanted), calls());
});

test('a port that is in use is named, with who has it and another one', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const { dir, check, calls } = folders(t, address.port);
  const { isFine, said } = await check('up', 'mine');
  assert.equal(isFine, false);
  const next = `SWITCH_PORT=${address.port + 1000}`;
  assert.match(
    said,
    new RegExp(
      `^port ${address.port} of switch is in use by node \\(pid ${process.pid}\\) in .*; ${next} gives`,
    ),
  );
  assert.match(said, new RegExp(`^nothing was started: .*: ${next} make up$`, 'm'));
  assert.doesNotMatch(calls(), /volume (rm|create)/);

  // At its first start, the folder takes other ports.
  const first = await check('up');
  const moved = first.checked?.SWITCH_PORT ?? '';
  const offset = Number(moved) - address.port;
  assert.ok(offset > 0 && offset % 100 === 0, moved);
  assert.equal(
    first.said,
    `usual ports are in use: this fleet adds ${offset} to each, by lines in .env.local\n`,
  );
  assert.match(readFileSync(join(dir, 'mine/.env.local'), 'utf8'), new RegExp(`^SWITCH_PORT=${moved}$`, 'm'));
});

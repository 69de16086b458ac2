import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { install } from '../support/installed.ts';

const BRIEF = 'write it\n```hello.txt\nhello\n```\n';

/** The processes whose command line names a folder. */
function processesIn(dir: string): readonly string[] {
  const { stdout } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes(dir));
}

test('the packed package makes two fleets as processes, each does a task, and nothing of them is left', {
  timeout: 600_000,
}, async (t) => {
  const { dir, fleet } = await install(t, { FLEET_MODE: 'process', FLEET_PORT_OFFSET: '' });
  const folders = ['first', 'second'] as const;
  t.after(() => {
    for (const folder of folders) if (existsSync(join(dir, folder))) fleet(folder, ['down']);
  });
  for (const folder of folders) {
    fleet('.', ['init', folder, '--yes', '--profiles', 'switch,neo']);
    // The folder is found upwards.
    const inside = join(folder, 'profiles/neo');
    fleet(inside, ['up']);
    const result: unknown = JSON.parse(fleet(inside, ['send', '--mcp', 'filesystem', '--json', BRIEF]));
    assert.partialDeepStrictEqual(result, { result: { status: 'done', executed_by: 'neo' } });
    assert.equal(fleet(inside, ['show', 'latest', 'hello.txt']), 'hello\n');
  }
  const states = folders.map((folder) => JSON.parse(fleet(folder, ['ps', '--json'])));
  const urls = states.flatMap((rows: readonly { readonly url: string | null }[]) =>
    rows.map(({ url }) => url),
  );
  assert.equal(new Set(urls.filter(Boolean)).size, urls.filter(Boolean).length, urls.join(' '));
  for (const folder of folders) fleet(folder, ['down']);
  assert.deepEqual(processesIn(dir), []);
  // Nothing is written into the package, nor beside the folders.
  assert.deepEqual(readdirSync(join(dir, 'prefix/node_modules')), [
    '.bin',
    '.package-lock.json',
    'hermes-fleet',
  ]);
});

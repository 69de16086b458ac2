import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FOLDER_IMAGE } from '../../libs/cli/src/folder/compose.ts';
import { readMembers } from '../../libs/cli/src/folder/members.ts';
import { withoutEngine } from '../support/engine.ts';
import { install } from '../support/installed.ts';

const BRIEF = 'write it\n```hello.txt\nhello\n```\n';
const FOLDERS = ['first', 'second'] as const;

const docker = (...args: string[]): string =>
  spawnSync('docker', args, { encoding: 'utf8', timeout: 240_000 }).stdout;
const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
const ofProject = (name: string): string => `label=com.docker.compose.project=${name}`;

/** Removes, when the test ends, all that the engine has of these projects, and the image, unless it was there before. */
function removeAtTheEnd(t: TestContext, projects: readonly string[]): void {
  const wasThere = docker('images', '--quiet', FOLDER_IMAGE) !== '';
  t.after(() => {
    for (const name of projects) {
      // Their folders are gone by then.
      docker('compose', '--project-name', name, 'down', '--volumes', '--timeout', '2');
      docker('volume', 'rm', '--force', `${name}_checkout`);
    }
    if (!wasThere) docker('image', 'rm', FOLDER_IMAGE);
  });
}

test('the packed package makes two fleets in containers, each does a task, and no container of them is left', {
  skip: withoutEngine(),
  timeout: 1_800_000,
}, async (t) => {
  const { dir, fleet } = await install(t, {
    FLEET_MODE: 'docker',
    // Grafana, without which the fleet runs, is not pulled.
    GRAFANA_IMAGE: 'localhost:1/none:0',
    // Nothing can be written there, and docker still finds Compose, which it does not with a HOME below a file.
    HOME: '/proc',
  });
  const projects: string[] = [];
  removeAtTheEnd(t, projects);
  for (const folder of FOLDERS) {
    fleet('.', ['init', folder, '--yes', '--profiles', 'switch,neo']);
    projects.push(readMembers(join(dir, folder)).name);
    const inside = join(folder, 'profiles/neo');
    fleet(inside, ['up']);
    const result: unknown = JSON.parse(fleet(inside, ['send', '--mcp', 'filesystem', '--json', BRIEF]));
    assert.partialDeepStrictEqual(result, { result: { status: 'done', executed_by: 'neo' } });
    assert.equal(fleet(inside, ['show', 'latest', 'hello.txt']), 'hello\n');
  }
  const urls = FOLDERS.flatMap((folder) => {
    const rows: readonly { name: string; state: string; url: string }[] = JSON.parse(
      fleet(folder, ['ps', '--json']),
    );
    for (const name of ['switch', 'neo', 'console'])
      assert.equal(rows.find((row) => row.name === name)?.state, 'ready', JSON.stringify(rows));
    return rows.map(({ url }) => url).filter(Boolean);
  });
  assert.equal(new Set(urls).size, urls.length, urls.join(' '));
  assert.match(readFileSync(join(dir, 'second/.env.local'), 'utf8'), /^SWITCH_PORT=/m);
  for (const folder of FOLDERS) fleet(folder, ['down']);
  for (const project of projects.map(ofProject)) {
    assert.deepEqual(lines(docker('ps', '--all', '--quiet', '--filter', project)), []);
    assert.deepEqual(lines(docker('network', 'ls', '--quiet', '--filter', project)), []);
  }
});

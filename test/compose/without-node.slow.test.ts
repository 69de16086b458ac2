import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { composeProject } from '../support/compose.ts';
import { withoutEngine } from '../support/engine.ts';
import { ROOT, runProgram } from '../support/fleet.ts';

const NOT_COMMITTED = new Set(['node_modules', '.git', '.fleet', '.cache']);
/** What any Linux or macOS has. */
const SHELL =
  'sh bash cat dirname readlink find mktemp id rm mv env sed tail head grep sleep xargs kill uname';
const TOOLS = [...SHELL.split(' '), 'docker', 'git', 'make'];
const BRIEF = 'write it\n```sh\necho hello > hello.txt\n```\n';

test('a host with Docker, and without npm and Node.js, has all commands on a fleet in containers', {
  skip: withoutEngine(),
  timeout: 900_000,
}, async (t) => {
  const dir = realpathSync(tempDir(t, { prefix: 'no node ' }));
  const { env, name } = composeProject(t, { FLEET_MODE: 'docker', GRAFANA_IMAGE: 'localhost:1/none:0' });
  const checkout = join(dir, 'a checkout');
  const mine = join(dir, 'my project');
  const bin = join(dir, 'bin');
  cpSync(ROOT, checkout, { recursive: true, filter: (file) => !NOT_COMMITTED.has(basename(file)) });
  mkdirSync(bin);
  for (const tool of TOOLS) {
    const { stdout } = await runProgram('which', [tool]);
    symlinkSync(stdout.trim(), join(bin, tool));
  }
  const run = async (program: string, args: readonly string[], cwd = mine): Promise<string> => {
    const own = { ...env, PATH: bin, HOME: dir };
    const { code, stdout, stderr } = await runProgram(join(dir, program), args, {
      cwd,
      env: own,
      timeoutMs: 600_000,
    });
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const fleet = (...args: string[]): Promise<string> => run('a checkout/fleet', args);
  mkdirSync(join(mine, 'deep'), { recursive: true });
  writeFileSync(join(mine, 'a.txt'), 'mine\n');
  const git = (...args: string[]) =>
    run('bin/git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args]);
  await git('init', '--quiet');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'one');

  const up = await run('bin/make', ['--silent', 'up'], checkout);
  assert.match(up, /^ +switch +http:\/\/127\.0\.0\.1:\d+$/m);
  assert.match(up, /^ {2}http:\/\/127\.0\.0\.1:\d+\/login\?code=\S+$/m);

  await t.test('a checkout is sent, and its result is seen and taken', async () => {
    assert.match(
      await run('a checkout/fleet', ['send', BRIEF, '--repo', '..'], join(mine, 'deep')),
      /^ *status +done/m,
    );
    assert.match(await fleet('diff', 'latest'), /^\+hello$/m);
    assert.equal(await fleet('show', 'latest', 'hello.txt'), 'hello\n');
    assert.match(await fleet('pull', 'latest', '--branch', 'taken'), /^made the branch taken/m);
    assert.equal(await git('show', 'taken:hello.txt'), 'hello\n');
  });

  await t.test('the other commands answer', async () => {
    assert.match(await run('bin/make', ['-s', 'token'], checkout), /^[\w-]{43}\n$/);
    assert.match(await fleet('peers'), /^neo +configured +live/m);
    assert.match(await fleet('ps'), /^switch +ready/m);
    assert.match(await fleet('console', '--no-open'), /^http:\/\/127\.0\.0\.1:\d+\/login\?code=/m);
    assert.match(await fleet('demo'), /^Decided: /m);
    assert.match(await fleet('doctor'), /^nothing failed$/m);
  });

  await t.test('the state is backed up, and its audit verified while the fleet is down', async () => {
    await fleet('backup', 'fleet.tar.zst');
    assert.ok(readFileSync(join(mine, 'fleet.tar.zst')).length > 10_000);
    await fleet('down');
    const left = await runProgram('docker', [
      'ps',
      '--all',
      '--quiet',
      '--filter',
      `label=com.docker.compose.project=${name}`,
    ]);
    assert.equal(left.stdout, '');
    assert.match(await fleet('trader', 'audit', 'verify'), /^the audit is intact: \d+ records$/m);
  });
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { cannotConfine, committedFiles, openTestContexts, setUpBy } from '../../testing/index.ts';
import { findSecret, maskOf } from './set-up-secrets.ts';

const SECRET = 'npm_"q/+?ü0123456789';
const secrets = () => ({ NPM_TOKEN: SECRET });
const FILES = { 'package.json': '{}\n' };

/** Users of contexts that do not exist, and no helper for Landlock. */
const SHARED = {
  users: { first: 2 ** 32, last: 2 ** 32 + 9 },
  programs: { landlock: '/nowhere/helper' },
};

/** Every file below a folder, as one text. */
function textBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

/** The environments and the arguments of all processes that the test can see. */
const seenIn = (what: 'environ' | 'cmdline'): string =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/${what}`, 'latin1');
      } catch {
        return '';
      }
    })
    .join('\n');

for (const confine of ['bubblewrap', 'uid'] as const)
  test(`only the commands of the set-up have its secrets, in no argument: ${confine}`, {
    timeout: 120_000,
    skip: cannotConfine(confine),
  }, async (t) => {
    const { path, commit } = committedFiles(t, FILES);
    const log = recordingLog();
    const wait = 'n=0; until [ -e go ] || [ $n -ge 1000 ]; do n=$((n + 1)); sleep 0.05; done';
    const commands = [
      `touch begun; [ ! -e slow ] || { ${wait}; }; rm -f begun go; printf %s "$NPM_TOKEN" | sha256sum > sum`,
    ];
    const contexts = await openTestContexts(t, { path, setUp: setUpBy(commands, { secrets }), confine, log });
    const secretBytes = Buffer.from(SECRET).toString('latin1');
    const look = `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env; cat sum; ls -A; cat ../../.set-up-*/tree/sum`;
    await using other = await contexts.open('other');
    await other.begin(true);
    assert.equal(other.setUp?.failure, undefined);
    commit({ slow: '' });
    const opening = contexts.open('one');
    const folders = join(contexts.place.workspaceRoot, 'contexts');
    const treeOf = () =>
      join(folders, readdirSync(folders).find((name) => name.startsWith('.set-up-')) ?? '', 'tree');
    while (!existsSync(join(treeOf(), 'begun'))) await systemClock.sleep(10, t.signal);
    const { stdout: spied } = await contexts.sh(other, look);
    const [environments, lines] = [seenIn('environ'), seenIn('cmdline')];
    writeFileSync(join(treeOf(), 'go'), '');
    await using workspace = await opening;
    assert.equal(workspace.setUp?.failure, undefined);
    assert.ok(environments.includes(secretBytes), 'a process of the set-up has the secret');
    assert.ok(!lines.includes(secretBytes), 'no argument has it');
    const { stdout } = await contexts.sh(workspace, look);
    assert.match(stdout, /[0-9a-f]{64} {2}-\n/);
    const told = [spied, stdout, JSON.stringify(log.entries), textBelow(contexts.place.workspaceRoot)];
    assert.ok(!told.join('\n').includes('0123456789'));
  });

test('a rotated secret is another value and no other set-up', { timeout: 120_000 }, async (t) => {
  const { path } = committedFiles(t, FILES);
  let value = SECRET;
  const log = recordingLog();
  const commands = ['printf %s "$NPM_TOKEN" | sha256sum > sum'];
  const setUp = setUpBy(commands, { secrets: () => ({ NPM_TOKEN: value }) });
  const contexts = await openTestContexts(t, { path, setUp, log });
  const { stdout } = await contexts.task('one', 'cat sum');
  value = 'another-one';
  assert.equal((await contexts.task('two', 'cat sum')).stdout, stdout);
  assert.equal(log.messages.filter((message) => /set-up of a commit runs/.test(message)).length, 1);
});

for (const [where, command, file] of [
  ['the tree', 'mkdir -p a/b; printf "//host/:_authToken=%s\\n" "$NPM_TOKEN" > a/b/.npmrc', 'a/b/.npmrc'],
  ['the home directory', 'printf "u:%s" "$NPM_TOKEN" | base64 -w 0 > "$HOME/.npmrc"', '~/.npmrc'],
] as const)
  test(`a file with a secret in ${where} fails the set-up, and no context gets it`, {
    timeout: 120_000,
  }, async (t) => {
    const { path } = committedFiles(t, FILES);
    const contexts = await openTestContexts(t, { path, setUp: setUpBy([command, 'true'], { secrets }) });
    await using workspace = await contexts.open('one');
    const reason = `it left the secret NPM_TOKEN in ${file}; remove the file in the last command of setup`;
    assert.deepEqual(workspace.setUp?.failure, { command: 'true', reason, output: '' });
    assert.equal((await contexts.sh(workspace, 'ls -A; ls -A "$HOME"')).stdout, '.git\npackage.json\n');
    assert.ok(!textBelow(contexts.place.workspaceRoot).includes(SECRET));
  });

test('a secret is found in every form and place, with the name of its file', async (t) => {
  const folder = tempDir(t);
  const files = join(folder, 'files');
  const archive = join(folder, 'archive.tar');
  const base64 = (text: string, form: BufferEncoding = 'base64') => Buffer.from(text).toString(form);
  const long = '0'.repeat(150);
  for (const [name, content] of [
    ['plain', `token=${SECRET}\n`],
    ['json', JSON.stringify({ token: SECRET })],
    ['url', `https://u:${encodeURIComponent(SECRET)}@host`],
    ['lower', 'https://u:npm_%22q%2f%2b%3f%c3%bc0123456789@host'],
    ['base64', base64(SECRET)],
    ['behind-1', base64(`:${SECRET}:`)],
    ['behind-2', base64(`u:${SECRET}`)],
    ['base64url', base64(`user:${SECRET}`, 'base64url')],
    [`${long}/long`, SECRET],
    [`named-${encodeURIComponent(SECRET)}`, ''],
    ['at-the-edge-of-a-chunk', `${'x'.repeat(256 * 1024 - 10_250)}${SECRET}`],
    ['large', `${'x'.repeat(700_001)}${SECRET}`],
  ] as const) {
    mkdirSync(join(files, long), { recursive: true });
    writeFileSync(join(files, 'a'), 'x'.repeat(5000));
    writeFileSync(join(files, name), content);
    writeFileSync(join(files, 'z'), 'no secret');
    execFileSync('tar', ['--sort=name', '-C', files, '-cf', archive, '.']);
    const found = await findSecret(archive, secrets(), t.signal);
    assert.deepEqual(found, { file: `./${name}`, variable: 'NPM_TOKEN' });
    rmSync(files, { recursive: true });
  }
  mkdirSync(files);
  writeFileSync(join(files, 'a'), `${SECRET.slice(1)}${'x'.repeat(300_000)}${SECRET.slice(0, -1)}`);
  execFileSync('tar', ['-C', files, '-cf', archive, '.']);
  assert.equal(await findSecret(archive, secrets(), t.signal), undefined);
});

test('a failed command is reported without its secrets', { timeout: 120_000 }, async (t) => {
  const { path } = committedFiles(t, FILES);
  const log = recordingLog();
  const command = 'printf "401 for %s" "$NPM_TOKEN" >&2; exit 3';
  const contexts = await openTestContexts(t, { path, setUp: setUpBy([command], { secrets }), log });
  await using workspace = await contexts.open('one');
  const failure = { command, reason: 'exit code 3', output: '401 for [NPM_TOKEN]' };
  assert.deepEqual(workspace.setUp?.failure, failure);
  assert.ok(!JSON.stringify(log.entries).includes('0123456789'));
});

test('a secret of several lines is masked line by line', () => {
  const mask = maskOf({ KEY: '-----BEGIN-----\nabcdefgh\nxyz\n' });
  assert.equal(mask('abcdefgh and xyz'), '[KEY] and xyz');
});

for (const [what, options] of [
  ['unconfined', { confine: 'unconfined' }],
  ['users that contexts share', { confine: 'uid', ...SHARED }],
] as const)
  test(`a set-up with secrets is refused where other tasks could read them: ${what}`, {
    timeout: 120_000,
    skip: options.confine === 'uid' && cannotConfine('uid'),
  }, async (t) => {
    const { path } = committedFiles(t, FILES);
    const setUp = setUpBy(['touch ran'], {
      secrets: () => assert.fail('the secrets are read'),
    });
    const contexts = await openTestContexts(t, { path, setUp, ...options });
    await using workspace = await contexts.open('one');
    assert.match(
      workspace.setUp?.failure?.reason ?? '',
      /^setup_secrets is refused, because commands of other tasks/,
    );
    assert.equal((await contexts.sh(workspace, 'ls')).stdout, 'package.json\n');
  });

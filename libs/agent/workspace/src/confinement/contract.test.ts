import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { openScene, type Scene } from '../../testing/confinement-scene.ts';
import { ALL_ATTACKS, KERNEL_ATTACKS } from '../../testing/kernel-attacks.ts';
import { landlockHelper, withoutLandlock } from '../../testing/landlock-helper.ts';
import { closedToOthers, nodeForOthers } from '../../testing/other-users.ts';
import { cannotConfine, mayChangeUsers, SECRET } from '../../testing/place.ts';
import type { ConfinementOptions } from './create-confinement.ts';

/**
 * What a command can and cannot do, over all confinements (SECURITY.md#protections). To try another idea, add a row. Each
 * attempt works without a confinement: so none of them fails for another reason.
 */
const isRoot = process.getuid?.() === 0;
const PLAIN = '1500';
/** Docker filters system calls too: what only our filter refuses cannot be shown to work without it. */
const isFiltered = /^Seccomp:\s*2$/m.test(readFileSync('/proc/self/status', 'utf8'));

type Kind = 'bubblewrap' | 'users' | 'landlock' | 'unconfined';

interface UnderTest {
  readonly kind: Kind;
  readonly name: string;
  /** Why it cannot run here. */
  readonly unavailable: string | false;
  options(): Pick<ConfinementOptions, 'confine' | 'programs'>;
}

const CONFINEMENTS: readonly UnderTest[] = [
  {
    kind: 'bubblewrap',
    name: `bubblewrap, with a gateway of ${isRoot ? 'root' : 'a user'}`,
    unavailable: cannotConfine('bubblewrap'),
    options: () => ({ confine: 'bubblewrap' }),
  },
  {
    kind: 'users',
    name: 'users of their own',
    unavailable: cannotConfine('uid'),
    options: () => ({ confine: 'uid', programs: { landlock: '/nowhere/helper' } }),
  },
  {
    kind: 'landlock',
    name: 'users of their own, with Landlock',
    unavailable: cannotConfine('uid') || withoutLandlock,
    options: () => ({ confine: 'uid', programs: { landlock: landlockHelper() } }),
  },
  {
    kind: 'unconfined',
    name: 'no confinement',
    unavailable: mayChangeUsers && !isRoot ? 'root owns what it would reach' : false,
    options: () => ({ confine: 'unconfined' }),
  },
];

const ALL: readonly Kind[] = ['bubblewrap', 'users', 'landlock', 'unconfined'];
/** Files that every user may read, and all system calls, are open where only users confine. */
const BY_USERS: readonly Kind[] = ['users', 'unconfined'];
const NOBODY: readonly Kind[] = ['unconfined'];

/** What a command tries, the script that does it, and the confinements under which it succeeds. */
type Attempt = readonly [what: string, script: (scene: Scene) => string, allowed: readonly Kind[]];

const PTRACE_SEIZE = 0x4206;
const seize = (pid: number): string =>
  `perl -e 'exit(syscall(${process.arch === 'x64' ? 101 : 117}, ${PTRACE_SEIZE}, ${pid}, 0, 0) < 0)'`;
const OUTPUT = '{ echo a > /dev/stdout; } | grep a && { echo b > /proc/self/fd/1; } > f && grep b f';
const SCORE =
  'for f in /proc/self/oom_score_adj /proc/self/oom_adj /proc/$$/task/*/oom_score_adj; do echo 0 > $f && exit 0; done; exit 1';

const renamed = (path: string): string => `mv ${path} ${path}-moved && mv ${path}-moved ${path}`;

const ATTEMPTS: readonly Attempt[] = [
  ['work in its tree', () => 'mkdir d && echo x > d/f && mv d/f g && cat g && git init -q r', ALL],
  ['use temporary files', () => 'f=$(mktemp) && echo x > $f && cat $f && rm $f', ALL],
  ['write by /dev/stdout to a pipe and to a file', () => OUTPUT, ALL],
  ['change the score by which the kernel ends it when memory is used up', () => SCORE, BY_USERS],
  ['read the token', ({ stateDir }) => `cat ${stateDir}/token`, NOBODY],
  ['list the state', ({ stateDir }) => `ls ${stateDir}`, NOBODY],
  ['change the ledger', ({ stateDir }) => `echo x >> ${stateDir}/ledger.db`, NOBODY],
  ['follow a link to the token', ({ stateDir }) => `ln -s ${stateDir}/token l && cat l`, NOBODY],
  ['take the token by a hard link', ({ stateDir }) => `ln ${stateDir}/token stolen`, NOBODY],
  ['read the environment of the gateway', ({ gateway }) => `cat /proc/${gateway}/environ`, NOBODY],
  ['enter the folder of the gateway', ({ gateway }) => `cat /proc/${gateway}/cwd/token`, NOBODY],
  ['read the open files of the gateway', ({ gateway }) => `cat /proc/${gateway}/fd/0`, NOBODY],
  ['pass the root of the gateway', (s) => `cat /proc/${s.gateway}/root${s.stateDir}/token`, NOBODY],
  ['signal the gateway', ({ gateway }) => `kill -0 ${gateway}`, NOBODY],
  ["list a neighbour's context", ({ neighbour }) => `ls ${neighbour.tree}/..`, NOBODY],
  ["list a neighbour's tree", ({ neighbour }) => `ls ${neighbour.tree}`, NOBODY],
  ["read a neighbour's file", ({ neighbour }) => `cat ${neighbour.tree}/file`, NOBODY],
  ["write into a neighbour's open folder", ({ neighbour }) => `touch ${neighbour.tree}/open/x`, NOBODY],
  ["rename a neighbour's context", ({ neighbour }) => renamed(dirname(neighbour.tree)), NOBODY],
  ["read a neighbour's environment", ({ neighbour }) => `cat /proc/${neighbour.pid}/environ`, NOBODY],
  ["enter a neighbour's folder", ({ neighbour }) => `cat /proc/${neighbour.pid}/cwd/file`, NOBODY],
  ['debug the gateway', ({ gateway }) => seize(gateway), NOBODY],
  ['debug a neighbour', ({ neighbour }) => seize(neighbour.pid), NOBODY],
  ['signal a neighbour', ({ neighbour }) => `kill -0 ${neighbour.pid}`, NOBODY],
  ...['/tmp', '/dev/shm'].flatMap((folder): Attempt[] => [
    [`read a neighbour's file in ${folder}`, ({ neighbour }) => `cat ${folder}/${neighbour.name}`, NOBODY],
    [`remove a neighbour's file in ${folder}`, ({ neighbour }) => `rm ${folder}/${neighbour.name}`, NOBODY],
  ]),
  ...['/home', '/var/lib', '/sys'].map((path): Attempt => [`list ${path}`, () => `ls ${path}`, BY_USERS]),
  // bubblewrap shows a folder with nothing but what is granted.
  ...['/', '/etc'].map((path): Attempt => [`list ${path}`, () => `ls ${path}`, ['bubblewrap', ...BY_USERS]]),
  ["read the machine's settings", () => 'cat /etc/fstab /etc/machine-id /etc/hostname | grep .', BY_USERS],
  ["list the machine's open folders", ({ outside }) => `ls ${outside}`, BY_USERS],
  ["write to the machine's open folders", ({ outside }) => `touch ${outside}/new`, BY_USERS],
  ["read the machine's files", ({ outside }) => `cat ${outside}/file`, BY_USERS],
  ["take the machine's files", ({ outside }) => `mv ${outside}/file .`, BY_USERS],
];

for (const { kind, name, unavailable, options } of CONFINEMENTS)
  test(`a command that is confined by ${name}`, { skip: unavailable }, async (t) => {
    const scene = await openScene(t, options());
    for (const [what, script, allowed] of ATTEMPTS)
      await t.test(`${allowed.includes(kind) ? 'can' : 'cannot'} ${what}`, async () => {
        const { exitCode, stdout, stderr } = await scene.run(script(scene));
        const isAllowed = allowed.includes(kind);
        assert.equal(exitCode === 0, isAllowed, `${name}: ${stdout}${stderr}`);
        if (!isAllowed) assert.doesNotMatch(stdout + stderr, new RegExp(SECRET));
      });
    const { stdout } = await scene.run(ALL_ATTACKS);
    const lines = stdout.split('\n');
    for (const { what, works } of KERNEL_ATTACKS) {
      const can =
        kind === 'unconfined' ? works !== undefined || isRoot : kind === 'users' && works === 'for users';
      const skip = can && isFiltered && 'Docker may refuse it';
      await t.test(`${can ? 'can' : 'cannot'} ${what}`, { skip }, () => {
        const line = lines.find((each) => each.endsWith(` ${what}`));
        assert.equal(line?.startsWith('0 '), can, line ?? stdout);
      });
    }
  });

test('the same holds for bubblewrap with a gateway of a user', {
  skip: isRoot ? cannotConfine('bubblewrap') || closedToOthers(import.meta.filename) : 'this is that user',
}, (t) => {
  const drop = ['--reuid', PLAIN, '--regid', PLAIN, '--clear-groups', '--inh-caps=-all'];
  const args = [...drop, nodeForOthers(t), '--test', '--test-reporter=tap', import.meta.filename];
  const ran = spawnSync('setpriv', args, { cwd: '/', encoding: 'utf8', env: { PATH: process.env.PATH } });
  assert.equal(ran.status, 0, ran.stdout);
  assert.match(ran.stdout, /^ok \d+ - a command that is confined by bubblewrap, with a gateway of a user$/m);
});

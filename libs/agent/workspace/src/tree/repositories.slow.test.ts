import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { cannotConfine, makeCheckout, makePlace, openTestContexts, startForge } from '../../testing/index.ts';
import { landlockHelper, withoutLandlock } from '../../testing/landlock-helper.ts';

const TOKEN = 'ghp_TokenOfTheForge0123456789';
const WEB = { name: 'web' };
const API = { name: 'api' };

const METHODS = {
  bubblewrap: {
    skip: cannotConfine('bubblewrap'),
    options: () => ({ confine: 'bubblewrap' as const }),
    shown: '',
  },
  'uid with Landlock': {
    skip: cannotConfine('uid') || withoutLandlock,
    options: () => ({ confine: 'uid' as const, programs: { landlock: landlockHelper() } }),
    shown: '',
  },
  'uid without Landlock': {
    skip: cannotConfine('uid'),
    options: () => ({ confine: 'uid' as const, programs: { landlock: '/nowhere/helper' } }),
    // A base is open to all users there (SECURITY.md#limits).
    shown: 'repos/api/base.git\nalternates repos/api/base.git\n',
  },
};

/**
 * Looks for the text, which comes encoded so that no command line has it, in all that a command reads: its environment and that of
 * every process, command lines, the configuration of git, and the files of the workspace and of the state directory.
 */
const SEARCH = (text: string, ...folders: string[]): string => `
printf ${Buffer.from(text).toString('base64')} | base64 -d > "$TMPDIR/needle"
found() { grep -aqF -f "$TMPDIR/needle" && echo "$1"; }
env | found environment
for kind in environ cmdline; do cat /proc/[0-9]*/$kind /proc/[0-9]*/task/*/$kind 2>/dev/null | found $kind; done
for level in --system --global --local --worktree ''; do git config $level --list 2>/dev/null | found "config $level"; done
git log --all -p | found history
grep -raslF --exclude=needle -f "$TMPDIR/needle" . "$HOME" "$TMPDIR" ${folders.join(' ')} 2>/dev/null
echo searched`;

/** Prints each way that leads to an object, and what is seen of other repositories; nothing but the last line where there is none. */
const REACH = (id: string, root: string): string => `
reached() { git cat-file -p ${id} >/dev/null 2>&1 && echo "$1"; }
reached 'its own store'
for store in base.git results.git 'repos/*/base.git' repos/api/base.git repos/api/results.git \
    checkouts/sent/base.git checkouts/sent/results.git contexts/theirs/tree/.git; do
  for dir in ${root}/$store; do GIT_DIR=$dir reached $store; done
  GIT_ALTERNATE_OBJECT_DIRECTORIES=${root}/$store/objects reached "alternates $store"
done
ls ${root}/repos ${root}/checkouts ${root}/checkouts/sent ${root}/repos/api ${root}/repos/api/results.git ${root}/contexts/theirs/tree 2>/dev/null | grep -vx -e web -e '.*/repos:'
find ${root} -name '*.pack' -readable 2>/dev/null | grep -e /api/ -e results.git
echo searched`;

async function scene(t: TestContext, method: keyof typeof METHODS) {
  const forge = await startForge(t, { token: TOKEN });
  forge.push('web', { 'a.txt': '1\n' });
  forge.push('api', { 'secret.txt': 'secret of the other repository\n' });
  const repositories = [forge.remote('web'), forge.remote('api')];
  let forward = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + forward };
  const contexts = await openTestContexts(t, {
    place: makePlace(t, { parent: '/var/tmp' }),
    repositories,
    clock,
    ...METHODS[method].options(),
  });
  await contexts.task('theirs', 'echo secret of the other context > made.txt', API);
  const sent = makeCheckout(t);
  sent.send(sent.commit({ 'sent.txt': 'secret of the other caller\n' }));
  const seen = await contexts.task('sent', 'cat sent.txt', sent.at(sent.git('rev-parse', 'HEAD')));
  assert.equal(seen.stdout, 'secret of the other caller\n');
  return { ...contexts, forge, sent, root: contexts.place.workspaceRoot, later: () => (forward += 10_000) };
}

for (const [method, { skip }] of Object.entries(METHODS) as [
  keyof typeof METHODS,
  { skip: string | false },
][]) {
  test(`no command finds the token of a repository, also while its branch is fetched (${method})`, {
    skip,
  }, async (t) => {
    const { open, sh, task, forge, place, later } = await scene(t, method);
    await using mine = await open('mine', WEB);
    await mine.begin(true);
    const search = SEARCH(TOKEN, place.workspaceRoot, place.stateDir);
    const planted = 'P="kept ""here"; export P; git config x.y "$P"; echo "$P" > planted';
    assert.equal(
      (await sh(mine, `${planted}\n${SEARCH('kept here')}`)).stdout,
      'environment\nenviron\nconfig --local\nconfig --worktree\nconfig \n./.git/config\n./planted\nsearched\n',
    );
    assert.equal((await sh(mine, search)).stdout, 'searched\n');
    later();
    const release = forge.server.hold();
    const before = forge.server.requests.length;
    const fetching = task('next', 'cat a.txt', WEB);
    while (forge.server.requests.length === before) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await sh(mine, search)).stdout, 'searched\n', 'during a fetch');
    release();
    assert.equal((await fetching).stdout, '1\n');
    const asked = forge.server.requests.map(({ authorization = '' }) =>
      Buffer.from(authorization.slice(6), 'base64').toString(),
    );
    assert.ok(
      asked.some((each) => each.endsWith(TOKEN)),
      'the token was sent',
    );
  });

  test(`no command reaches another repository, a checkout of another caller, or their results (${method})`, {
    skip,
  }, async (t) => {
    const { open, sh, forge, sent, root } = await scene(t, method);
    await using mine = await open('mine', WEB);
    await mine.begin(true);
    const theirs = await open('theirs', API);
    const blob = (await sh(theirs, 'git rev-parse HEAD:made.txt')).stdout.trim();
    await theirs[Symbol.asyncDispose]();
    assert.equal((await sh(mine, REACH(blob, root))).stdout, 'searched\n');
    assert.equal((await sh(mine, REACH(sent.git('rev-parse', 'HEAD:sent.txt'), root))).stdout, 'searched\n');
    const { stdout } = await sh(mine, REACH(forge.git('api', 'rev-parse', 'HEAD:secret.txt'), root));
    assert.equal(stdout, `${METHODS[method].shown}searched\n`);
  });
}

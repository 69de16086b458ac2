import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cannotConfine, mayChangeUsers, openTestContexts, SECRET } from '../../testing/index.ts';

/** Programs that git can be made to run; each adds a line with its user to the file `ids` in the tree. */
const RUNS = 'id -u >> "$PWD/ids"; cat';

/**
 * What a task can plant for the git that runs after it. `$STATE` is the gateway's state directory, `$RESULTS` the store of
 * all results, `$THEIRS` the hash of a neighbour's blob.
 */
const PLANTED: Readonly<Record<string, string>> = {
  'a clean filter': `git config filter.x.clean '${RUNS}'; echo '* filter=x' > .gitattributes`,
  'a filter process': `git config filter.x.process 'id -u >> ids'; git config filter.x.required false; echo '* filter=x' > .git/info/attributes`,
  'an included file': `printf '[filter "x"]\\n\\tclean = id -u >> ids; cat\\n' > extra; git config include.path ../extra; echo '* filter=x' > .gitattributes`,
  'a file system monitor': `printf '#!/bin/sh\\nid -u >> ids\\n' > monitor; chmod +x monitor; git config core.fsmonitor "$PWD/monitor"`,
  hooks: `mkdir -p .git/hooks; for h in pre-commit post-commit post-index-change reference-transaction; do printf '#!/bin/sh\\nid -u >> ids\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done`,
  'a hooks path': `mkdir h; printf '#!/bin/sh\\nid -u >> ids\\n' > h/pre-commit; chmod +x h/pre-commit; git config core.hooksPath "$PWD/h"`,
  'a program for signatures': `printf '#!/bin/sh\\nid -u >> ids\\n' > gpg; chmod +x gpg; git config gpg.program "$PWD/gpg"; git config commit.gpgSign true`,
  'a diff program': `git config diff.x.command 'id -u >> ids'; git config diff.x.textconv 'id -u >> ids'; echo '* diff=x' > .gitattributes`,
  'a filter in a nested repository': `git init -q sub; cd sub; git commit -q --allow-empty -m x; git config filter.x.clean 'id -u >> ../ids; cat'; echo '* filter=x' > .gitattributes; echo 1 > f`,
  'a gitfile that leads to another repository': `git init -q "$TMPDIR/evil"; git -C "$TMPDIR/evil" config filter.x.clean 'id -u >> "$OLDPWD/ids"; cat'; mv .git "$TMPDIR/old"; echo "gitdir: $TMPDIR/evil/.git" > .git`,
  'another work tree': 'git config core.worktree "$STATE"',
  'a common directory': `mkdir "$TMPDIR/c"; cp -r .git/. "$TMPDIR/c"; echo "$TMPDIR/c" > .git/commondir`,
  'an index that is a link': 'rm .git/index; ln -s "$STATE/ledger.db" .git/index',
  'a log that is a link': 'rm -rf .git/logs/HEAD; mkdir -p .git/logs; ln -s "$STATE/token" .git/logs/HEAD',
  'a branch that is a link':
    'rm .git/refs/heads/fleet/*; ln -s "$STATE/token" .git/refs/heads/fleet/attacker',
  'a HEAD that is a link': 'ln -sf "$STATE/token" .git/HEAD',
  'a tree that is a link to a secret': 'ln -s "$STATE/token" stolen; ln -s "$STATE" folder',
  'alternates that lead to the results': 'echo "$RESULTS/objects" >> .git/objects/info/alternates',
  'a neighbour’s blob by its hash':
    'git update-index --add --cacheinfo 100644,$THEIRS,theirs.txt; git commit -q -m x',
  'a replaced object':
    'git replace -f HEAD^{tree} $(git mktree </dev/null) || git commit --allow-empty -qm x; git replace -f HEAD $(git commit-tree -m y HEAD^{tree})',
  'a graft':
    'mkdir -p .git/info; echo "$(git rev-parse HEAD)" > .git/info/grafts; echo "$(git rev-parse HEAD)" > .git/shallow',
  'a branch of a neighbour':
    'git update-ref refs/heads/fleet/neighbour HEAD; git checkout -q -B fleet/neighbour',
  'a git of its own': `mkdir -p bin; printf '#!/bin/sh\\nid -u >> ids\\n' > bin/git; chmod +x bin/git; PATH=$PWD/bin:$PATH`,
};

for (const confine of ['bubblewrap', 'uid'] as const) {
  test(`nothing that a task plants in its tree runs, reads or writes as the gateway (${confine})`, {
    skip: cannotConfine(confine),
    timeout: 300_000,
  }, async (t) => {
    const contexts = await openTestContexts(t, { confine });
    const { workspaceRoot, stateDir } = contexts.place;
    const results = join(workspaceRoot, 'results.git');
    const git = (...args: string[]): string =>
      execFileSync('git', ['-C', results, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
    await contexts.task('neighbour', 'echo the-neighbours-secret > secret.txt');
    const theirs = git('rev-parse', 'fleet/neighbour:secret.txt');
    const tip = git('rev-parse', 'fleet/neighbour');
    const stateBefore = execFileSync('find', [stateDir, '-printf', '%p %s %T@ %m\n'], { encoding: 'utf8' });
    const env = `STATE=${stateDir} RESULTS=${results} THEIRS=${theirs};`;
    for (const [at, [what, script]] of Object.entries(PLANTED).entries()) {
      const name = `attacker-${at}`;
      await contexts.task(name, `${env} echo work > work.txt; ${script}`);
      await using workspace = await contexts.open(name);
      const begun = await workspace.begin(true);
      assert.ok('base' in begun, what);
      const tree = join(workspaceRoot, 'contexts', name, 'tree');
      writeFileSync(join(tree, 'work.txt'), 'more');
      const shown = await workspace.diffSince(begun.base, 100_000);
      await workspace.commit('Task');
      const files = git('ls-tree', '-r', '--name-only', `fleet/${name}`).split('\n');
      assert.ok(files.includes('work.txt'), `${what}: the work is there: ${files.join()}`);
      const told = shown + git('log', '-p', `fleet/${name}`);
      assert.doesNotMatch(told, new RegExp(`${SECRET}|the-neighbours-secret`), what);
      const ids = readdirSync(tree).includes('ids') ? readFileSync(join(tree, 'ids'), 'utf8') : '';
      const users = new Set(ids.split('\n').filter((line) => line !== ''));
      if (mayChangeUsers) assert.ok(!users.has(String(process.getuid?.())), what);
      assert.equal(git('rev-parse', 'fleet/neighbour'), tip, what);
    }
    assert.equal(
      execFileSync('find', [stateDir, '-printf', '%p %s %T@ %m\n'], { encoding: 'utf8' }),
      stateBefore,
    );
    assert.equal(git('fsck', '--full', '--strict', '--no-dangling'), '');
    assert.equal((await contexts.task('neighbour', 'cat secret.txt')).stdout, 'the-neighbours-secret\n');
  });
}
